// exit: calls exit() from deep inside a recursion; stresses profiles of runs whose frames never return.
// Usage: exit [CODE] [DEPTH]
#include <stdio.h>
#include <stdlib.h>

static int leaves;

static void say_goodbye(void) { printf("goodbye from leaf %d\n", leaves); }

// Visits a binary tree in preorder, and leaves the program at the fifth leaf.
__attribute__((noinline)) static int visit(int code, int depth, int limit) {
    if (depth == limit) {
        if (++leaves == 5) exit(code);
        return 1;
    }
    return visit(code, depth + 1, limit) + visit(code, depth + 1, limit) + depth;
}

int main(int argc, char **argv) {
    int code = argc > 1 ? atoi(argv[1]) : 0;
    int limit = argc > 2 ? atoi(argv[2]) : 100;
    atexit(say_goodbye);
    printf("exit %d at depth %d\n", code, limit);
    printf("too small a tree: %d\n", visit(code, 0, limit));
    return 1;
}
