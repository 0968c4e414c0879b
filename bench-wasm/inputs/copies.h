// Includes INPUT as copies 1 to 39, for bench.c and bench.cpp: the preprocessor has no loops.

#define COPY 1
#include INPUT
#undef COPY
#define COPY 2
#include INPUT
#undef COPY
#define COPY 3
#include INPUT
#undef COPY
#define COPY 4
#include INPUT
#undef COPY
#define COPY 5
#include INPUT
#undef COPY
#define COPY 6
#include INPUT
#undef COPY
#define COPY 7
#include INPUT
#undef COPY
#define COPY 8
#include INPUT
#undef COPY
#define COPY 9
#include INPUT
#undef COPY
#define COPY 10
#include INPUT
#undef COPY
#define COPY 11
#include INPUT
#undef COPY
#define COPY 12
#include INPUT
#undef COPY
#define COPY 13
#include INPUT
#undef COPY
#define COPY 14
#include INPUT
#undef COPY
#define COPY 15
#include INPUT
#undef COPY
#define COPY 16
#include INPUT
#undef COPY
#define COPY 17
#include INPUT
#undef COPY
#define COPY 18
#include INPUT
#undef COPY
#define COPY 19
#include INPUT
#undef COPY
#define COPY 20
#include INPUT
#undef COPY
#define COPY 21
#include INPUT
#undef COPY
#define COPY 22
#include INPUT
#undef COPY
#define COPY 23
#include INPUT
#undef COPY
#define COPY 24
#include INPUT
#undef COPY
#define COPY 25
#include INPUT
#undef COPY
#define COPY 26
#include INPUT
#undef COPY
#define COPY 27
#include INPUT
#undef COPY
#define COPY 28
#include INPUT
#undef COPY
#define COPY 29
#include INPUT
#undef COPY
#define COPY 30
#include INPUT
#undef COPY
#define COPY 31
#include INPUT
#undef COPY
#define COPY 32
#include INPUT
#undef COPY
#define COPY 33
#include INPUT
#undef COPY
#define COPY 34
#include INPUT
#undef COPY
#define COPY 35
#include INPUT
#undef COPY
#define COPY 36
#include INPUT
#undef COPY
#define COPY 37
#include INPUT
#undef COPY
#define COPY 38
#include INPUT
#undef COPY
#define COPY 39
#include INPUT
#undef COPY
