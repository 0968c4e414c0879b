// A longer file for cc1plus, for benchmarks: input.cpp forty times, so that it has a second of work, as with real files.

#define INPUT "input.cpp"
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
#include INPUT
#undef COPY
// There is one of these in a program.
#define operator JOIN(operator_, COPY)
#define delete

#include "copies.h"
