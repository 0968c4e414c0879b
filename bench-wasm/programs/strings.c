// strings: word count, searching, case folding and edit distance on generated prose; stresses byte loops and the C
// library's string functions.
// Usage: strings [WORDS] [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const vocabulary[] = {
    "the",  "block", "path",   "of",      "edge",    "counter", "a",        "loop",  "and",    "profile", "chord", "tree",
    "call", "in",    "branch", "tracing", "compile", "hot",     "spanning", "trace", "engine", "to",      "is",    "side",
};
enum { VOCABULARY = sizeof vocabulary / sizeof vocabulary[0] };

static uint32_t random_state = 11;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 10) % n;
}

// Sentences of vocabulary words, the first one capitalised, in lines.
static char *write_prose(char *out, int words) {
    for (int i = 0, start = 1; i < words; i++) {
        uint32_t a = random_below(VOCABULARY), b = random_below(VOCABULARY);
        const char *word = vocabulary[a < b ? a : b];
        size_t length = strlen(word);
        memcpy(out, word, length);
        if (start) out[0] = (char)(out[0] - 'a' + 'A');
        out += length;
        start = random_below(12) == 0;
        if (start) *out++ = '.';
        *out++ = random_below(10) ? ' ' : '\n';
    }
    *out = 0;
    return out;
}

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

typedef struct {
    uint32_t words, lines, sentences, letters;
} Counts;

__attribute__((noinline)) static Counts count(const char *text) {
    Counts c = {0};
    int in_word = 0;
    for (; *text; text++) {
        int letter = is_letter(*text);
        c.letters += (uint32_t)letter;
        c.words += letter && !in_word;
        c.lines += *text == '\n';
        c.sentences += *text == '.';
        in_word = letter;
    }
    return c;
}

__attribute__((noinline)) static uint32_t search_naively(const char *text, const char *needle) {
    uint32_t found = 0;
    for (; *text; text++) {
        int i = 0;
        while (needle[i] && text[i] == needle[i]) i++;
        found += !needle[i];
    }
    return found;
}

// Boyer and Moore's search with Horspool's shift table.
__attribute__((noinline)) static uint32_t search_skipping(const char *text, size_t size, const char *needle) {
    size_t length = strlen(needle), shift[256];
    for (int i = 0; i < 256; i++) shift[i] = length;
    for (size_t i = 0; i + 1 < length; i++) shift[(uint8_t)needle[i]] = length - 1 - i;
    uint32_t found = 0;
    for (size_t at = 0; at + length <= size; at += shift[(uint8_t)text[at + length - 1]])
        found += !memcmp(text + at, needle, length);
    return found;
}

__attribute__((noinline)) static void fold_case(char *text) {
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z') *text = (char)(*text + ('a' - 'A'));
}

enum { MAX_LENGTH = 200 };

// Levenshtein's distance between two strings, with one row of the table.
__attribute__((noinline)) static int edit_distance(const char *a, int n, const char *b, int m) {
    static int row[MAX_LENGTH + 1];
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (diagonal + 1 < best) best = diagonal + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

static uint32_t hash_text(const char *s) {
    uint32_t h = 2166136261u;
    while (*s) h = (h ^ (uint8_t)*s++) * 16777619u;
    return h;
}

int main(int argc, char **argv) {
    int words = argc > 1 ? atoi(argv[1]) : 100000;
    int rounds = argc > 2 ? atoi(argv[2]) : 80;
    char *text = malloc((size_t)words * 10 + 1);
    if (!text || words < MAX_LENGTH) return 1;
    uint32_t naive = 0, skipping = 0, distance = 0, sum = 0;
    Counts last = {0};
    for (int round = 0; round < rounds; round++) {
        size_t size = (size_t)(write_prose(text, words) - text);
        const char *needle = vocabulary[round % VOCABULARY];
        last = count(text);
        naive += search_naively(text, needle);
        skipping += search_skipping(text, size, "spanning tree");
        for (int i = 0; i < 20; i++)
            distance += (uint32_t)edit_distance(text + i, MAX_LENGTH, text + size / 2 + (size_t)i * 7, MAX_LENGTH);
        fold_case(text);
        for (char *p = text; (p = strstr(p, "hot path")); p++) skipping++;
        sum = sum * 31 + hash_text(text);
    }
    printf("strings %d x %d: %u words, %u lines, %u sentences, found %u and %u, distance %u, checksum %08x\n", words,
           rounds, last.words, last.lines, last.sentences, naive, skipping, distance, sum);
    return 0;
}
