// sort: quicksort, heapsort and merge sort of integers and strings; stresses data-dependent branches, swaps, and calls
// of a comparator through a pointer.
// Usage: sort [ITEMS] [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_state = 3;
static uint32_t random_next(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 4;
}

// ---- quicksort of integers, compared in place

static void insertion_sort(uint32_t *v, int n) {
    for (int i = 1; i < n; i++) {
        uint32_t x = v[i];
        int j = i;
        for (; j && v[j - 1] > x; j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

static uint32_t median(uint32_t a, uint32_t b, uint32_t c) {
    if (a > b) return b > c ? b : a > c ? c : a;
    return a > c ? a : b > c ? c : b;
}

__attribute__((noinline)) static void quicksort(uint32_t *v, int n) {
    if (n < 16) {
        insertion_sort(v, n);
        return;
    }
    uint32_t pivot = median(v[0], v[n / 2], v[n - 1]);
    int i = 0, j = n - 1;
    while (i <= j) {
        while (v[i] < pivot) i++;
        while (v[j] > pivot) j--;
        if (i > j) break;
        uint32_t swap = v[i];
        v[i++] = v[j];
        v[j--] = swap;
    }
    quicksort(v, j + 1);
    quicksort(v + i, n - i);
}

// ---- heapsort of integers

static void sift_down(uint32_t *v, int i, int n) {
    uint32_t x = v[i];
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && v[child] < v[child + 1]) child++;
        if (v[child] <= x) break;
        v[i] = v[child];
    }
    v[i] = x;
}

__attribute__((noinline)) static void heapsort_ints(uint32_t *v, int n) {
    for (int i = n / 2; i-- > 0;) sift_down(v, i, n);
    for (int last = n - 1; last > 0; last--) {
        uint32_t top = v[0];
        v[0] = v[last];
        v[last] = top;
        sift_down(v, 0, last);
    }
}

// ---- merge sort of pointers, with a comparator

typedef int (*Compare)(const void *, const void *);

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static int by_length(const void *a, const void *b) {
    int d = (int)strlen(a) - (int)strlen(b);
    return d ? d : strcmp(a, b);
}

__attribute__((noinline)) static void merge_sort(const char **v, const char **scratch, int n, Compare compare) {
    if (n < 2) return;
    int half = n / 2;
    merge_sort(v, scratch, half, compare);
    merge_sort(v + half, scratch, n - half, compare);
    memcpy(scratch, v, sizeof *v * (size_t)half);
    for (int i = 0, j = half, out = 0; i < half;)
        v[out++] = j < n && compare(v[j], scratch[i]) < 0 ? v[j++] : scratch[i++];
}

// ---- driver

static void make_word(char *word) {
    int length = 3 + (int)(random_next() % 10);
    for (int i = 0; i < length; i++) word[i] = (char)('a' + random_next() % 26 % (i < 2 ? 4u : 26u));
    word[length] = 0;
}

static uint32_t check_ints(const uint32_t *v, int n) {
    uint32_t h = 0;
    for (int i = 0; i < n; i++) {
        if (i && v[i - 1] > v[i]) puts("sort: out of order");
        h = h * 31 + v[i];
    }
    return h;
}

static uint32_t check_words(const char **v, int n, Compare compare) {
    uint32_t h = 0;
    for (int i = 0; i < n; i++) {
        if (i && compare(v[i - 1], v[i]) > 0) puts("sort: out of order");
        h = h * 31 + (uint8_t)v[i][2];
    }
    return h;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100000;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    uint32_t *ints = malloc(sizeof *ints * (size_t)n);
    char(*text)[16] = malloc(sizeof *text * (size_t)n);
    const char **words = malloc(sizeof *words * (size_t)n), **scratch = malloc(sizeof *words * (size_t)n);
    if (!ints || !text || !words || !scratch) return 1;
    uint32_t quick = 0, heap = 0, merge = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++) ints[i] = random_next();
        quicksort(ints, n);
        quick ^= check_ints(ints, n);
        for (int i = 0; i < n; i++) ints[i] = random_next();
        heapsort_ints(ints, n);
        heap ^= check_ints(ints, n);
        Compare compare = round % 2 ? by_length : by_text;
        for (int i = 0; i < n; i++) make_word(text[i]), words[i] = text[i];
        merge_sort(words, scratch, n, compare);
        merge ^= check_words(words, n, compare);
    }
    printf("sort %d x %d: quick %08x, heap %08x, merge %08x\n", n, rounds, quick, heap, merge);
    return 0;
}
