// lists: walks linked lists again and again; what walking them takes depends on where their nodes are, and on whether
// the next walk is like the one before. Usage: lists [KIND] [NODES] [WALKS]
//
// Kinds: scattered (nodes in random order of addresses), edited (as before, but some nodes change places between walks),
// new (all change places between walks), ordered (nodes in order of addresses), buckets (many short scattered lists,
// walked in the same order), random (the same, walked in random order).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Node Node;
struct Node {
    Node *next;
    uint32_t value;
    uint32_t payload[14]; // a cache line for each node
};

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

__attribute__((noinline)) static uint32_t walk(const Node *node) {
    uint32_t sum = 0;
    for (; node; node = node->next) sum = sum * 31 + node->value;
    return sum;
}

static void swap(uint32_t *order, uint32_t i, uint32_t j) {
    uint32_t there = order[i];
    order[i] = order[j];
    order[j] = there;
}

static void shuffle(uint32_t *order, uint32_t nodes, uint32_t swaps) {
    for (uint32_t i = 0; i < swaps; i++) swap(order, i % nodes, random_below(nodes));
}

// Links nodes in an order, as lists of so many nodes.
static void link_nodes(Node *all, const uint32_t *order, uint32_t nodes, uint32_t length) {
    for (uint32_t i = 0; i < nodes; i++) {
        int is_last = i + 1 == nodes || (i + 1) % length == 0;
        all[order[i]].next = is_last ? NULL : &all[order[i + 1]];
    }
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "scattered";
    uint32_t nodes = argc > 2 ? atoi(argv[2]) : 100000;
    uint32_t walks = argc > 3 ? atoi(argv[3]) : 1000;
    int has_buckets = !strcmp(kind, "buckets") || !strcmp(kind, "random");
    uint32_t length = has_buckets ? 64 : nodes, lists = (nodes + length - 1) / length;
    Node *all = aligned_alloc(64, nodes * sizeof(Node));
    uint32_t *order = malloc(nodes * sizeof *order);
    if (!all || !order) return 1;
    for (uint32_t i = 0; i < nodes; i++) {
        order[i] = i;
        all[i].value = i;
    }
    if (strcmp(kind, "ordered")) shuffle(order, nodes, 2 * nodes);
    link_nodes(all, order, nodes, length);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < walks; i++) {
        if (!strcmp(kind, "edited") || !strcmp(kind, "new")) {
            shuffle(order, nodes, !strcmp(kind, "new") ? nodes : nodes / 100);
            link_nodes(all, order, nodes, length);
        }
        for (uint32_t list = 0; list < lists; list++) {
            uint32_t which = strcmp(kind, "random") ? list : random_below(lists);
            sum = sum * 31 + walk(&all[order[which * length]]);
        }
    }
    printf("lists %s %u %u: %08x\n", kind, nodes, walks, sum);
    return 0;
}
