// Two kinds of blocks are made in one loop: small ones that live for one round, and large ones of which every hundredth is
// never given back. The program knows what it has asked for and says so.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

static uint64_t blocks, bytes, live, peak;

static void made(size_t size) {
    blocks += 1;
    bytes += size;
    live += size;
    if (live > peak) peak = live;
}

static void gone(size_t size) {
    live -= size;
}

struct Node {
    Node *next;
    char *text;
    size_t size;
};

__attribute__((noinline)) static char *scratch(size_t size) {
    made(size);
    return static_cast<char *>(malloc(size));
}

__attribute__((noinline)) static Node *keep(Node *before, size_t size) {
    made(sizeof(Node));
    Node *node = static_cast<Node *>(malloc(sizeof(Node)));
    made(size);
    node->text = static_cast<char *>(calloc(size / 8, 8)); // PLANTED
    node->size = size;
    node->next = before;
    return node;
}

__attribute__((noinline)) static Node *drop(Node *node) {
    Node *next = node->next;
    gone(node->size);
    free(node->text);
    gone(sizeof(Node));
    free(node);
    return next;
}

__attribute__((noinline)) static char *grow(char *text, size_t from, size_t to) {
    made(to);
    char *larger = static_cast<char *>(realloc(text, to));
    gone(from);
    return larger;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1500000;
    Node *kept = nullptr;
    uint64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        size_t size = 16 + round % 7;
        char *text = scratch(size);
        text[0] = char(round);
        text = grow(text, size, 2 * size);
        sum += uint8_t(text[0]);
        kept = keep(kept, 4096);
        if (round % 100 != 0) kept = drop(kept);
        gone(2 * size);
        free(text);
    }
    printf("%llu blocks, %llu bytes, %llu live, %llu at the peak, sum %llu\n", (unsigned long long)blocks,
           (unsigned long long)bytes, (unsigned long long)live, (unsigned long long)peak, (unsigned long long)sum);
}
