// A longer file for cc1plus, for benchmarks: input.cpp forty times, so that it has a second of work, as with real files.

#define JOIN_(name, copy) name##copy
#define JOIN(name, copy) JOIN_(name, copy)
#define Stack JOIN(Stack_, COPY)
#define Shape JOIN(Shape_, COPY)
#define Square JOIN(Square_, COPY)
#define Circle JOIN(Circle_, COPY)
#define fibonacci JOIN(fibonacci_, COPY)
#define Table JOIN(Table_, COPY)
#define total_area JOIN(total_area_, COPY)
#define main JOIN(main_, COPY)

#define COPY 0
#include "input.cpp"
#undef COPY
// There is one of these in a program.
#define operator JOIN(operator_, COPY)
#define delete

#define COPY 1
#include "input.cpp"
#undef COPY
#define COPY 2
#include "input.cpp"
#undef COPY
#define COPY 3
#include "input.cpp"
#undef COPY
#define COPY 4
#include "input.cpp"
#undef COPY
#define COPY 5
#include "input.cpp"
#undef COPY
#define COPY 6
#include "input.cpp"
#undef COPY
#define COPY 7
#include "input.cpp"
#undef COPY
#define COPY 8
#include "input.cpp"
#undef COPY
#define COPY 9
#include "input.cpp"
#undef COPY
#define COPY 10
#include "input.cpp"
#undef COPY
#define COPY 11
#include "input.cpp"
#undef COPY
#define COPY 12
#include "input.cpp"
#undef COPY
#define COPY 13
#include "input.cpp"
#undef COPY
#define COPY 14
#include "input.cpp"
#undef COPY
#define COPY 15
#include "input.cpp"
#undef COPY
#define COPY 16
#include "input.cpp"
#undef COPY
#define COPY 17
#include "input.cpp"
#undef COPY
#define COPY 18
#include "input.cpp"
#undef COPY
#define COPY 19
#include "input.cpp"
#undef COPY
#define COPY 20
#include "input.cpp"
#undef COPY
#define COPY 21
#include "input.cpp"
#undef COPY
#define COPY 22
#include "input.cpp"
#undef COPY
#define COPY 23
#include "input.cpp"
#undef COPY
#define COPY 24
#include "input.cpp"
#undef COPY
#define COPY 25
#include "input.cpp"
#undef COPY
#define COPY 26
#include "input.cpp"
#undef COPY
#define COPY 27
#include "input.cpp"
#undef COPY
#define COPY 28
#include "input.cpp"
#undef COPY
#define COPY 29
#include "input.cpp"
#undef COPY
#define COPY 30
#include "input.cpp"
#undef COPY
#define COPY 31
#include "input.cpp"
#undef COPY
#define COPY 32
#include "input.cpp"
#undef COPY
#define COPY 33
#include "input.cpp"
#undef COPY
#define COPY 34
#include "input.cpp"
#undef COPY
#define COPY 35
#include "input.cpp"
#undef COPY
#define COPY 36
#include "input.cpp"
#undef COPY
#define COPY 37
#include "input.cpp"
#undef COPY
#define COPY 38
#include "input.cpp"
#undef COPY
#define COPY 39
#include "input.cpp"
#undef COPY
