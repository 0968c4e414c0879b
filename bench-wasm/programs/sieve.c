// sieve: segmented sieve of Eratosthenes; stresses byte stores with a stride, and tight counting loops.
// Usage: sieve [LIMIT]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENT = 32 * 1024, MAX_BASE = 6600 };

static uint8_t composite[SEGMENT];
static uint32_t base[MAX_BASE], next[MAX_BASE];  // odd primes up to sqrt(limit), and their next multiple
static int bases;

static void find_base_primes(uint32_t limit) {
    for (uint32_t p = 3; (uint64_t)p * p <= limit && bases < MAX_BASE; p += 2) {
        int prime = 1;
        for (int i = 0; i < bases && base[i] * base[i] <= p && prime; i++) prime = p % base[i] != 0;
        if (prime) {
            base[bases] = p;
            next[bases++] = p * p;
        }
    }
}

// Marks the odd composites of [low, low + 2 * SEGMENT); cell i stands for low + 1 + 2 * i.
__attribute__((noinline)) static void mark(uint32_t low) {
    memset(composite, 0, SEGMENT);
    uint32_t high = low + 2 * SEGMENT;
    for (int i = 0; i < bases && base[i] * base[i] < high; i++) {
        uint32_t j = (next[i] - low) / 2, step = base[i];
        for (; j < SEGMENT; j += step) composite[j] = 1;
        next[i] = low + 2 * j + 1;
    }
}

int main(int argc, char **argv) {
    uint32_t limit = argc > 1 ? (uint32_t)atoi(argv[1]) : 400000000;
    find_base_primes(limit);
    uint32_t count = limit >= 2, twins = 0, last = 2, sum = 2;
    for (uint32_t low = 0; low < limit; low += 2 * SEGMENT) {
        mark(low);
        for (uint32_t i = low == 0; i < SEGMENT; i++) {
            uint32_t p = low + 1 + 2 * i;
            if (composite[i] || p > limit) continue;
            count++;
            twins += p - last == 2;
            sum += p;
            last = p;
        }
    }
    printf("sieve %u: %u primes, %u twins, last %u, checksum %08x\n", limit, count, twins, last, sum);
    return 0;
}
