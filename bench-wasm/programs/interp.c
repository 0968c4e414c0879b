// interp: a bytecode interpreter with switch dispatch running a little program (longest Collatz chain);
// stresses one big loop around a br_table with unpredictable targets. Built with debug information.
// Usage: interp [STARTS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum {
    OP_PUSH,   // push the operand
    OP_LOAD,   // push variable [operand]
    OP_STORE,  // pop into variable [operand]
    OP_ADD,
    OP_MUL,
    OP_SHR,
    OP_AND,
    OP_LESS,
    OP_JUMP,    // go to [operand]
    OP_UNLESS,  // pop; go to [operand] if it was zero
    OP_HALT,
} Op;

typedef struct {
    uint8_t op;
    uint32_t operand;
} Instruction;

enum { BEST, BEST_START, START, VALUE, STEPS, LIMIT, VARIABLES };

static const Instruction collatz[] = {
    /*  0 */ {OP_PUSH, 1},      {OP_STORE, START},
    /*  2 */ {OP_LOAD, START},  {OP_LOAD, LIMIT},  {OP_LESS, 0},     {OP_UNLESS, 46},
    /*  6 */ {OP_LOAD, START},  {OP_STORE, VALUE}, {OP_PUSH, 0},     {OP_STORE, STEPS},
    /* 10 */ {OP_PUSH, 1},      {OP_LOAD, VALUE},  {OP_LESS, 0},     {OP_UNLESS, 33},
    /* 14 */ {OP_LOAD, STEPS},  {OP_PUSH, 1},      {OP_ADD, 0},      {OP_STORE, STEPS},
    /* 18 */ {OP_LOAD, VALUE},  {OP_PUSH, 1},      {OP_AND, 0},      {OP_UNLESS, 28},
    /* 22 */ {OP_LOAD, VALUE},  {OP_PUSH, 3},      {OP_MUL, 0},      {OP_PUSH, 1},
    /* 26 */ {OP_ADD, 0},       {OP_JUMP, 31},     {OP_LOAD, VALUE}, {OP_PUSH, 1},
    /* 30 */ {OP_SHR, 0},       {OP_STORE, VALUE}, {OP_JUMP, 10},
    /* 33 */ {OP_LOAD, BEST},   {OP_LOAD, STEPS},  {OP_LESS, 0},     {OP_UNLESS, 41},
    /* 37 */ {OP_LOAD, STEPS},  {OP_STORE, BEST},  {OP_LOAD, START}, {OP_STORE, BEST_START},
    /* 41 */ {OP_LOAD, START},  {OP_PUSH, 1},      {OP_ADD, 0},      {OP_STORE, START},
    /* 45 */ {OP_JUMP, 2},      {OP_HALT, 0},
};

// Runs `code` to its halt; returns the number of instructions executed.
__attribute__((noinline)) static uint64_t run(const Instruction *code, uint32_t *variable) {
    uint32_t stack[16], *top = stack;
    uint64_t executed = 0;
    for (const Instruction *pc = code;; executed++) {
        uint32_t operand = pc->operand;
        switch ((Op)(pc++)->op) {
            case OP_PUSH: *top++ = operand; break;
            case OP_LOAD: *top++ = variable[operand]; break;
            case OP_STORE: variable[operand] = *--top; break;
            case OP_ADD: top--; top[-1] += top[0]; break;
            case OP_MUL: top--; top[-1] *= top[0]; break;
            case OP_SHR: top--; top[-1] >>= top[0]; break;
            case OP_AND: top--; top[-1] &= top[0]; break;
            case OP_LESS: top--; top[-1] = top[-1] < top[0]; break;
            case OP_JUMP: pc = code + operand; break;
            case OP_UNLESS: if (!*--top) pc = code + operand; break;
            case OP_HALT: return executed;
        }
    }
}

int main(int argc, char **argv) {
    uint32_t variable[VARIABLES] = {0};
    variable[LIMIT] = argc > 1 ? (uint32_t)atoi(argv[1]) : 110000;
    uint64_t executed = run(collatz, variable);
    printf("interp %u: longest chain %u from %u, %llu instructions\n", variable[LIMIT], variable[BEST],
           variable[BEST_START], (unsigned long long)executed);
    return 0;
}
