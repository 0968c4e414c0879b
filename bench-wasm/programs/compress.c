// compress: LZ77 with hash chains, then Huffman codes, and all the way back; stresses match loops, bit streams and
// table lookups.
// Usage: compress [BYTES] [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_allocate(size_t bytes) {
    void *p = calloc(1, bytes);
    if (!p) exit(1);
    return p;
}

// ---- LZ77: bytes to tokens and back

enum { WINDOW = 1 << 15, HASHES = 1 << 13, MIN_MATCH = 4, MAX_MATCH = 130, CHAIN = 24 };

// Symbols below 256 are bytes; 256 + n means a match of length n + MIN_MATCH, followed by its distance.
enum { SYMBOLS = 256 + MAX_MATCH - MIN_MATCH + 1, END = SYMBOLS - 1 };

typedef struct {
    uint16_t symbol, distance;
} Token;

static uint32_t head[HASHES], previous[WINDOW];  // positions plus one; zero ends a chain

static uint32_t hash_at(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, 4);
    return word * 2654435761u >> 19;
}

static uint32_t match_length(const uint8_t *a, const uint8_t *b, uint32_t limit) {
    uint32_t n = 0;
    while (n < limit && a[n] == b[n]) n++;
    return n;
}

static void remember(const uint8_t *text, uint32_t at) {
    uint32_t h = hash_at(text + at);
    previous[at % WINDOW] = head[h];
    head[h] = at + 1;
}

__attribute__((noinline)) static uint32_t longest_match(const uint8_t *text, uint32_t at, uint32_t limit, uint32_t *distance) {
    uint32_t best = 0;
    uint32_t candidate = head[hash_at(text + at)];
    for (int i = 0; i < CHAIN && candidate && at - (candidate - 1) < WINDOW; i++) {
        uint32_t length = match_length(text + candidate - 1, text + at, limit);
        if (length > best) {
            best = length;
            *distance = at - (candidate - 1);
        }
        candidate = previous[(candidate - 1) % WINDOW];
    }
    return best;
}

static uint32_t tokenize(const uint8_t *text, uint32_t size, Token *tokens) {
    memset(head, 0, sizeof head);
    uint32_t count = 0;
    for (uint32_t at = 0; at < size;) {
        uint32_t limit = size - at < MAX_MATCH - 1 ? size - at : MAX_MATCH - 1;
        uint32_t distance = 0, length = limit < MIN_MATCH ? 0 : longest_match(text, at, limit, &distance);
        if (length < MIN_MATCH) length = 1, tokens[count++] = (Token){text[at], 0};
        else tokens[count++] = (Token){(uint16_t)(256 + length - MIN_MATCH), (uint16_t)distance};
        for (; length; length--, at++)
            if (at + 4 <= size) remember(text, at);
    }
    tokens[count++] = (Token){END, 0};
    return count;
}

static uint32_t expand(const Token *tokens, uint8_t *out) {
    uint32_t at = 0;
    for (; tokens->symbol != END; tokens++) {
        if (tokens->symbol < 256) {
            out[at++] = (uint8_t)tokens->symbol;
            continue;
        }
        for (uint32_t n = tokens->symbol - 256u + MIN_MATCH; n; n--, at++) out[at] = out[at - tokens->distance];
    }
    return at;
}

// ---- Huffman codes: canonical, at most 15 bits

enum { MAX_BITS = 15 };

typedef struct {
    uint8_t length[SYMBOLS];
    uint16_t code[SYMBOLS];
    uint16_t first[MAX_BITS + 2], offset[MAX_BITS + 2], sorted[SYMBOLS];  // for decoding
} Code;

// Lengths from a tree built by repeatedly joining the two lightest roots; returns the longest.
static int measure(const uint32_t *weight, uint8_t *length) {
    static uint32_t root_weight[2 * SYMBOLS];
    static int parent[2 * SYMBOLS], roots[SYMBOLS];
    int nodes = SYMBOLS, live = 0, longest = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        root_weight[i] = weight[i];
        if (weight[i]) roots[live++] = i;
    }
    while (live > 1) {
        int child[2];
        for (int c = 0; c < 2; c++) {
            int least = 0;
            for (int i = 1; i < live; i++)
                if (root_weight[roots[i]] < root_weight[roots[least]]) least = i;
            child[c] = roots[least];
            roots[least] = roots[--live];
        }
        root_weight[nodes] = root_weight[child[0]] + root_weight[child[1]];
        parent[child[0]] = parent[child[1]] = nodes;
        roots[live++] = nodes++;
    }
    for (int i = 0; i < SYMBOLS; i++) {
        int depth = 0;
        for (int n = i; weight[i] && n != nodes - 1; n = parent[n]) depth++;
        length[i] = (uint8_t)depth;
        if (depth > longest) longest = depth;
    }
    return longest;
}

static void assign_codes(Code *c) {
    uint16_t count[MAX_BITS + 2] = {0}, next = 0, index = 0;
    for (int i = 0; i < SYMBOLS; i++) count[c->length[i]]++;
    for (int bits = 1; bits <= MAX_BITS; bits++) {
        c->first[bits] = next;
        c->offset[bits] = index;
        for (int i = 0; i < SYMBOLS; i++)
            if (c->length[i] == bits) {
                c->code[i] = next++;
                c->sorted[index++] = (uint16_t)i;
            }
        next = (uint16_t)(next << 1);
    }
    c->offset[MAX_BITS + 1] = index;
}

static void build_code(const Token *tokens, uint32_t count, Code *c) {
    uint32_t weight[SYMBOLS] = {0};
    for (uint32_t i = 0; i < count; i++) weight[tokens[i].symbol]++;
    while (measure(weight, c->length) > MAX_BITS)  // too deep: flatten, and try again
        for (int i = 0; i < SYMBOLS; i++) weight[i] = (weight[i] + 1) / 2;
    assign_codes(c);
}

// ---- bit streams, most significant bit first

typedef struct {
    uint8_t *at;
    uint64_t bits;
    int held;
} Bits;

static void write_bits(Bits *b, uint32_t value, int count) {
    b->bits = b->bits << count | value;
    b->held += count;
    for (; b->held >= 8; b->held -= 8) *b->at++ = (uint8_t)(b->bits >> (b->held - 8));
}

static uint32_t read_bits(Bits *b, int count) {
    for (; b->held < count; b->held += 8) b->bits = b->bits << 8 | *b->at++;
    b->held -= count;
    return (uint32_t)(b->bits >> b->held) & ((1u << count) - 1);
}

__attribute__((noinline)) static uint32_t encode(const Token *tokens, const Code *c, uint8_t *out) {
    Bits b = {out, 0, 0};
    do {
        write_bits(&b, c->code[tokens->symbol], c->length[tokens->symbol]);
        if (tokens->distance) write_bits(&b, tokens->distance, 15);
    } while (tokens++->symbol != END);
    write_bits(&b, 0, 7);
    return (uint32_t)(b.at - out);
}

static uint16_t read_symbol(Bits *b, const Code *c) {
    uint32_t code = 0;
    for (int bits = 1; bits <= MAX_BITS; bits++) {
        code = code << 1 | read_bits(b, 1);
        uint32_t index = code - c->first[bits] + c->offset[bits];
        if (code >= c->first[bits] && index < c->offset[bits + 1]) return c->sorted[index];
    }
    return END;
}

__attribute__((noinline)) static void decode(uint8_t *in, const Code *c, Token *tokens) {
    Bits b = {in, 0, 0};
    do {
        tokens->symbol = read_symbol(&b, c);
        int match = tokens->symbol >= 256 && tokens->symbol != END;
        tokens->distance = match ? (uint16_t)read_bits(&b, 15) : 0;
    } while (tokens++->symbol != END);
}

// ---- driver

// Text that repeats itself: copies of what stands shortly before, with fresh bytes in between.
static void generate(uint8_t *text, uint32_t size, uint32_t seed) {
    for (uint32_t at = 0; at < size;) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t length = 3 + (seed >> 27), back = 1 + (seed >> 10) % 5000;
        for (int fresh = at <= back || seed % 8 < 3; length && at < size; length--, at++) {
            seed = seed * 1664525u + 1013904223u;
            text[at] = fresh ? (uint8_t)"etaoin shrdlu\nMBUP"[(seed >> 20) % 18] : text[at - back];
        }
    }
}

int main(int argc, char **argv) {
    uint32_t size = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000000;
    int rounds = argc > 2 ? atoi(argv[2]) : 15;
    uint8_t *text = must_allocate(size + 4), *packed = must_allocate(size * 4 + 16), *back = must_allocate(size + 4);
    Token *tokens = must_allocate(sizeof *tokens * (size + 1)), *decoded = must_allocate(sizeof *decoded * (size + 1));
    static Code code;
    uint32_t total = 0, sum = 2166136261u;
    for (int round = 0; round < rounds; round++) {
        generate(text, size, (uint32_t)round);
        uint32_t count = tokenize(text, size, tokens);
        build_code(tokens, count, &code);
        uint32_t bytes = encode(tokens, &code, packed);
        decode(packed, &code, decoded);
        if (expand(decoded, back) != size || memcmp(text, back, size)) {
            puts("compress: the round trip failed");
            return 1;
        }
        total += bytes;
        for (uint32_t i = 0; i < bytes; i++) sum = (sum ^ packed[i]) * 16777619u;
    }
    printf("compress %u x %d: %u bytes packed, checksum %08x\n", size, rounds, total, sum);
    return 0;
}
