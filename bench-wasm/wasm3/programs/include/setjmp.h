// What wasi-libc of Debian lacks: clang calls the runtime in setjmp.c.
typedef struct {
    void *invocation;
    unsigned label;
    void *env;
    int value;
} jmp_buf[1];
int setjmp(jmp_buf) __attribute__((returns_twice));
_Noreturn void longjmp(jmp_buf, int);
