// A longer file for cc1, for benchmarks: input.c forty times, so that it has a second of work, as with real files.

#define INPUT "input.c"
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
#include INPUT
#undef COPY
#include "copies.h"
