// crash: goes N calls deep and then traps in the way that is asked for; stresses traps, backtraces and profiles of
// runs that end early. Built with debug information.
// Usage: crash [KIND] [DEPTH], KIND being one of `kinds` below; `ok` returns normally.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*Function)(int);
typedef double (*OtherFunction)(double, double);

static volatile int zero = 0;

static int identity(int x) { return x; }

// `zero` is volatile, so the compiler can neither foresee nor remove what happens.
static int ok(void) { return zero; }
static int unreachable(void) { __builtin_trap(); }
static int out_of_bounds(void) { return *(volatile int *)(0xfffffff0ul + (unsigned long)zero); }
static int store_out_of_bounds(void) { return *(volatile int *)(0xfffffff0ul + (unsigned long)zero) = 1; }
static int divide(void) { return 7 / zero; }
static int overflow(void) { return (INT32_MIN + zero) / (zero - 1); }
static int call_null(void) { return ((Function)(uintptr_t)zero)(1); }
static int call_beyond(void) { return ((Function)(uintptr_t)(100000 + zero))(1); }
static int call_wrong_type(void) {
    volatile Function f = identity;
    return (int)((OtherFunction)(uintptr_t)f)(1.0, 2.0);
}
static int convert(void) {
#ifdef __wasm__
    return __builtin_wasm_trunc_s_i32_f64(1e10 + zero);
#else
    abort();
#endif
}
static int aborted(void) { abort(); }
__attribute__((noinline)) static int recurse(int n) { return n < 0 ? n : recurse(n + zero) + recurse(n + 1) + zero; }
static int exhaust_stack(void) { return recurse(1); }

static const struct {
    const char *name;
    int (*act)(void);
} kinds[] = {
    {"ok", ok},
    {"unreachable", unreachable},
    {"oob", out_of_bounds},
    {"oob-store", store_out_of_bounds},
    {"divide", divide},
    {"overflow", overflow},
    {"null", call_null},
    {"table", call_beyond},
    {"signature", call_wrong_type},
    {"convert", convert},
    {"abort", aborted},
    {"stack", exhaust_stack},
};

// Two functions by turns, so that a backtrace shows more than one name and no loop can replace the recursion.
static uint32_t descend_right(int (*act)(void), uint32_t depth);

__attribute__((noinline)) static uint32_t descend_left(int (*act)(void), uint32_t depth) {
    if (depth == 0) return (uint32_t)act();
    return descend_right(act, depth - 1) * 3 + depth;
}

__attribute__((noinline)) static uint32_t descend_right(int (*act)(void), uint32_t depth) {
    if (depth == 0) return (uint32_t)act();
    return descend_left(act, depth - 1) * 5 + depth;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "unreachable";
    uint32_t depth = argc > 2 ? (uint32_t)atoi(argv[2]) : 10;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kind, kinds[i].name)) {
            printf("crash %s at depth %u\n", kind, depth);
            fflush(stdout);
            printf("returned %u\n", descend_left(kinds[i].act, depth));
            return 0;
        }
    fprintf(stderr, "crash: no kind '%s'\n", kind);
    return 2;
}
