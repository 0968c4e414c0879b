// branchy: decisions on pseudo-random data, some even, some skewed, some correlated; stresses branches that a
// predictor misses, and gives path profiles something to tell apart.
// Usage: branchy [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 14 };
static uint8_t cell[CELLS];

typedef struct {
    uint32_t small, medium, large, runs, flips, score;
} Tally;

static void fill(uint32_t seed) {
    for (int i = 0; i < CELLS; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        cell[i] = (uint8_t)(seed >> 11);
    }
}

__attribute__((noinline)) static void classify(Tally *t, uint32_t salt) {
    int was_odd = 0;
    for (int i = 0; i < CELLS; i++) {
        uint32_t v = cell[i] ^ salt;
        int odd = v & 1;
        if (v < 64) {  // one in four
            t->small++;
            if (odd) t->score += v * 3;
            else t->score ^= v << 4;
        } else if (v < 250) {
            t->medium++;
            if (v % 3 == 0) t->score += 7;
        } else {  // one in forty
            t->large++;
            t->score = t->score * 5 + v;
        }
        if (odd == was_odd) t->runs++;  // correlated with the branch on `odd` above
        else if (v & 2) t->flips++;
        was_odd = odd;
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 3000;
    Tally t = {0};
    for (int i = 0; i < rounds; i++) {
        if (i % 16 == 0) fill(0x9e3779b9u + (uint32_t)i);
        classify(&t, (uint32_t)i & 255);
    }
    printf("branchy %d: small %u, medium %u, large %u, runs %u, flips %u, checksum %08x\n", rounds, t.small, t.medium,
           t.large, t.runs, t.flips, t.score);
    return 0;
}
