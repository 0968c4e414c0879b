// hello: the smallest useful program; stresses start-up, not execution.
#include <stdio.h>

int main(void) {
    puts("hello, world");
    return 0;
}
