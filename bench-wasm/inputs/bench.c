// A longer file for cc1, for benchmarks: input.c forty times, so that it has a second of work, as with real files.

#define JOIN_(name, copy) name##copy
#define JOIN(name, copy) JOIN_(name, copy)
#define node JOIN(node_, COPY)
#define pool JOIN(pool_, COPY)
#define used JOIN(used_, COPY)
#define ring JOIN(ring_, COPY)
#define serial JOIN(serial_, COPY)
#define ring_put JOIN(ring_put_, COPY)
#define ring_get JOIN(ring_get_, COPY)
#define insert JOIN(insert_, COPY)
#define sum_tree JOIN(sum_tree_, COPY)
#define crc16 JOIN(crc16_, COPY)
#define square_root JOIN(square_root_, COPY)
#define command JOIN(command_, COPY)
#define drive JOIN(drive_, COPY)
#define smooth JOIN(smooth_, COPY)
#define main JOIN(main_, COPY)
#define STOP JOIN(STOP_, COPY)
#define LEFT JOIN(LEFT_, COPY)
#define RIGHT JOIN(RIGHT_, COPY)
#define FORWARD JOIN(FORWARD_, COPY)
#define BACK JOIN(BACK_, COPY)
#define SPIN JOIN(SPIN_, COPY)
#define REPORT JOIN(REPORT_, COPY)
#define u8 JOIN(u8_, COPY)
#define u16 JOIN(u16_, COPY)
#define u32 JOIN(u32_, COPY)

#define COPY 0
#include "input.c"
#undef COPY
#define COPY 1
#include "input.c"
#undef COPY
#define COPY 2
#include "input.c"
#undef COPY
#define COPY 3
#include "input.c"
#undef COPY
#define COPY 4
#include "input.c"
#undef COPY
#define COPY 5
#include "input.c"
#undef COPY
#define COPY 6
#include "input.c"
#undef COPY
#define COPY 7
#include "input.c"
#undef COPY
#define COPY 8
#include "input.c"
#undef COPY
#define COPY 9
#include "input.c"
#undef COPY
#define COPY 10
#include "input.c"
#undef COPY
#define COPY 11
#include "input.c"
#undef COPY
#define COPY 12
#include "input.c"
#undef COPY
#define COPY 13
#include "input.c"
#undef COPY
#define COPY 14
#include "input.c"
#undef COPY
#define COPY 15
#include "input.c"
#undef COPY
#define COPY 16
#include "input.c"
#undef COPY
#define COPY 17
#include "input.c"
#undef COPY
#define COPY 18
#include "input.c"
#undef COPY
#define COPY 19
#include "input.c"
#undef COPY
#define COPY 20
#include "input.c"
#undef COPY
#define COPY 21
#include "input.c"
#undef COPY
#define COPY 22
#include "input.c"
#undef COPY
#define COPY 23
#include "input.c"
#undef COPY
#define COPY 24
#include "input.c"
#undef COPY
#define COPY 25
#include "input.c"
#undef COPY
#define COPY 26
#include "input.c"
#undef COPY
#define COPY 27
#include "input.c"
#undef COPY
#define COPY 28
#include "input.c"
#undef COPY
#define COPY 29
#include "input.c"
#undef COPY
#define COPY 30
#include "input.c"
#undef COPY
#define COPY 31
#include "input.c"
#undef COPY
#define COPY 32
#include "input.c"
#undef COPY
#define COPY 33
#include "input.c"
#undef COPY
#define COPY 34
#include "input.c"
#undef COPY
#define COPY 35
#include "input.c"
#undef COPY
#define COPY 36
#include "input.c"
#undef COPY
#define COPY 37
#include "input.c"
#undef COPY
#define COPY 38
#include "input.c"
#undef COPY
#define COPY 39
#include "input.c"
#undef COPY
