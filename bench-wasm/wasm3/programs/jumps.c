// jumps: parses numbers, and leaves by longjmp where the text is wrong, through frames of any depth.
// Usage: jumps [ROUNDS]
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf top, inner;

__attribute__((noinline)) static int deep(int n) {
    if (n == 0) longjmp(top, 7);
    volatile int here = n;
    return deep(n - 1) + here;
}

static int number(const char *text, int *at) {
    int n = 0;
    for (; text[*at] >= '0' && text[*at] <= '9'; ++*at) n = 10 * n + text[*at] - '0';
    if (text[*at] && text[*at] != '+') longjmp(inner, 1 + *at);
    return n;
}

static int sum(const char *text) {
    volatile int total = 0;
    int at = 0, wrong = setjmp(inner);
    if (wrong) return -wrong - total;
    for (;;) {
        total += number(text, &at);
        if (!text[at++]) return total;
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 4000;
    volatile int tries = 0;
    int code = setjmp(top);
    if (code) printf("back with %d after try %d\n", code, tries);
    if (++tries < 5) deep(tries * 3);
    static const char *const texts[] = {"1+2+39", "12+x", "7", "100+20+3?"};
    int all = 0;
    for (int n = 0; n < rounds; n++) all += sum(texts[n % 4]);
    printf("%d %d\n", all, sum("1+2") + sum("y"));
}
