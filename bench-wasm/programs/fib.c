// fib: doubly recursive Fibonacci numbers; stresses call and return, and nothing else.
// Usage: fib [N]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static uint64_t fib(uint32_t n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv) {
    uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : 41;
    printf("fib(%u) = %llu\n", n, (unsigned long long)fib(n));
    return 0;
}
