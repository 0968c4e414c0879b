// hash: a string-keyed table with open addressing; stresses hashing, probing with string compares, and cache misses.
// Usage: hash [KEYS] [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 16 };

typedef struct {
    char key[KEY_SIZE];
    uint32_t hash;   // zero: the slot is free
    uint32_t value;
} Slot;

typedef struct {
    Slot *slots;
    uint32_t mask, used;
} Table;

// Multiply and rotate over four bytes at a time; keys are padded with zeros.
__attribute__((noinline)) static uint32_t hash_key(const char *key) {
    uint32_t h = 0x9747b28cu, word;
    for (int i = 0; i < KEY_SIZE; i += 4) {
        memcpy(&word, key + i, 4);
        word *= 0xcc9e2d51u;
        h = (h ^ (word << 15 | word >> 17)) * 5u + 0xe6546b64u;
    }
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h ^= h >> 13;
    return h ? h : 1;
}

// The slot that holds `key`, or the free one where it belongs.
__attribute__((noinline)) static Slot *find(const Table *t, const char *key, uint32_t hash) {
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        Slot *s = &t->slots[i];
        if (!s->hash || (s->hash == hash && !strcmp(s->key, key))) return s;
    }
}

static void resize(Table *t, uint32_t capacity) {
    Table bigger = {calloc(capacity, sizeof(Slot)), capacity - 1, t->used};
    if (!bigger.slots) exit(1);
    for (uint32_t i = 0; t->slots && i <= t->mask; i++)
        if (t->slots[i].hash) *find(&bigger, t->slots[i].key, t->slots[i].hash) = t->slots[i];
    free(t->slots);
    *t = bigger;
}

static uint32_t *entry(Table *t, const char *key) {
    if (t->used * 4 >= t->mask * 3) resize(t, (t->mask + 1) * 2);
    uint32_t hash = hash_key(key);
    Slot *s = find(t, key, hash);
    if (!s->hash) {
        t->used++;
        s->hash = hash;
        s->value = 0;
        memcpy(s->key, key, KEY_SIZE);
    }
    return &s->value;
}

// Removes `key`, moving later members of its cluster back so that they are still found.
static int erase(Table *t, const char *key) {
    Slot *s = find(t, key, hash_key(key));
    if (!s->hash) return 0;
    uint32_t hole = (uint32_t)(s - t->slots);
    for (uint32_t i = (hole + 1) & t->mask; t->slots[i].hash; i = (i + 1) & t->mask) {
        uint32_t home = t->slots[i].hash & t->mask;
        if (((i - home) & t->mask) < ((i - hole) & t->mask)) continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole].hash = 0;
    t->used--;
    return 1;
}

static void make_key(char *key, uint32_t number) {
    memset(key, 0, KEY_SIZE);
    strcpy(key, "key-");
    char *end = key + 4;
    do *end++ = (char)('a' + number % 26);
    while (number /= 26);
}

int main(int argc, char **argv) {
    uint32_t keys = argc > 1 ? (uint32_t)atoi(argv[1]) : 100000;
    int rounds = argc > 2 ? atoi(argv[2]) : 50;
    Table table = {0};
    resize(&table, 16);
    uint32_t state = 1, erased = 0, missed = 0;
    char key[KEY_SIZE];
    for (int round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < keys; i++) {
            state = state * 1664525u + 1013904223u;
            make_key(key, (state >> 8) % keys);
            if (state % 16 == 1) erased += (uint32_t)erase(&table, key);
            else if (state % 4) *entry(&table, key) += i;
            else missed += !find(&table, key, hash_key(key))->hash;
        }
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= table.mask; i++)
        if (table.slots[i].hash) sum = sum * 31 + table.slots[i].value;
    printf("hash %u x %d: %u used, %u erased, %u missed, checksum %08x\n", keys, rounds, table.used, erased, missed, sum);
    return 0;
}
