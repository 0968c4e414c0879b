// The runtime of setjmp and longjmp, as clang's -wasm-enable-sjlj expects it.
#include <setjmp.h>
#include <stddef.h>

struct jump {
    void *env;
    int value;
};
struct buffer {
    void *invocation;
    unsigned label;
    struct jump jump;
};

void __wasm_setjmp(struct buffer *buffer, unsigned label, void *invocation) {
    buffer->invocation = invocation;
    buffer->label = label;
}

unsigned __wasm_setjmp_test(const struct buffer *buffer, void *invocation) {
    return buffer->invocation == invocation ? buffer->label : 0;
}

_Noreturn void __wasm_longjmp(struct buffer *buffer, int value) {
    buffer->jump.env = buffer;
    buffer->jump.value = value ? value : 1;
    __builtin_wasm_throw(1, &buffer->jump);
}
