// calls: small functions that the C compiler is told not to inline; stresses direct calls that an engine may inline.
// Usage: calls [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline)) static

NOINLINE uint32_t rotate(uint32_t x, uint32_t by) { return x << by | x >> (32 - by); }
NOINLINE uint32_t choose(uint32_t x, uint32_t y, uint32_t z) { return (x & y) ^ (~x & z); }
NOINLINE uint32_t majority(uint32_t x, uint32_t y, uint32_t z) { return (x & y) | (z & (x | y)); }
NOINLINE uint32_t scramble(uint32_t x) { return rotate(x, 7) ^ rotate(x, 18) ^ x >> 3; }
NOINLINE int is_rare(uint32_t x) { return (x & 0xff) == 0; }
NOINLINE uint32_t handle_rare(uint32_t x) { return x / 7 + 1; }

// A call chain three deep, with one callee that is seldom reached.
NOINLINE uint32_t step(uint32_t x, uint32_t y) {
    uint32_t z = scramble(x) + choose(x, y, x >> 5);
    if (is_rare(z)) z ^= handle_rare(z);
    return z + majority(x, y, z);
}

int main(int argc, char **argv) {
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 40000000;
    uint32_t x = 1, y = 2;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t z = step(x, y + i);
        y = x;
        x = z;
    }
    printf("calls %u: checksum %08x\n", rounds, x);
    return 0;
}
