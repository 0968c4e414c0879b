// matmul: product of dense f64 matrices; stresses a hot triple loop of loads, stores and float arithmetic.
// Usage: matmul [SIZE]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(double *m, int n, uint32_t seed) {
    for (int i = 0; i < n * n; i++) {
        seed = seed * 1664525u + 1013904223u;
        m[i] = (double)(int32_t)(seed >> 8) / 8388608.0 - 1.0;
    }
}

// c = a * b, rows of b walked in order so that the inner loop is contiguous.
__attribute__((noinline)) static void multiply(const double *restrict a, const double *restrict b,
                                               double *restrict c, int n) {
    memset(c, 0, sizeof(double) * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            double x = a[i * n + k];
            for (int j = 0; j < n; j++) c[i * n + j] += x * b[k * n + j];
        }
}

static uint64_t checksum(const double *m, int n) {
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < n * n; i++) {
        uint64_t bits;
        memcpy(&bits, &m[i], sizeof bits);
        h = (h ^ bits) * 1099511628211u;
    }
    return h;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    size_t bytes = sizeof(double) * (size_t)n * (size_t)n;
    double *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    if (!a || !b || !c) return 1;
    fill(a, n, 1);
    fill(b, n, 2);
    multiply(a, b, c, n);
    double trace = 0;
    for (int i = 0; i < n; i++) trace += c[i * n + i];
    printf("matmul %d: trace %lld/1e6, checksum %016llx\n", n, (long long)(trace * 1e6),
           (unsigned long long)checksum(c, n));
    return 0;
}
