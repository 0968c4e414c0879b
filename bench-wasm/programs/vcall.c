// vcall: objects with method tables; stresses call_indirect at sites with one, mostly one, and many targets.
// Usage: vcall [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Shape Shape;

typedef struct {
    uint32_t (*area)(const Shape *);
    uint32_t (*perimeter)(const Shape *);
    void (*grow)(Shape *, uint32_t by);
} Methods;

struct Shape {
    const Methods *methods;
    uint32_t width, height;
};

static uint32_t square_area(const Shape *s) { return s->width * s->width; }
static uint32_t square_perimeter(const Shape *s) { return 4 * s->width; }
static uint32_t rectangle_area(const Shape *s) { return s->width * s->height; }
static uint32_t rectangle_perimeter(const Shape *s) { return 2 * (s->width + s->height); }
static uint32_t triangle_area(const Shape *s) { return s->width * s->height / 2; }
static uint32_t triangle_perimeter(const Shape *s) { return 2 * s->height + s->width; }
static uint32_t cross_area(const Shape *s) { return s->width * 2 + s->height * 2 - 1; }
static uint32_t cross_perimeter(const Shape *s) { return 4 * (s->width + s->height) - 4; }
static void grow_wide(Shape *s, uint32_t by) { s->width = (s->width + by) & 1023; }
static void grow_tall(Shape *s, uint32_t by) { s->height = (s->height + by) & 1023; }

static const Methods square = {square_area, square_perimeter, grow_wide};
static const Methods rectangle = {rectangle_area, rectangle_perimeter, grow_wide};
static const Methods triangle = {triangle_area, triangle_perimeter, grow_tall};
static const Methods cross = {cross_area, cross_perimeter, grow_tall};

enum { SHAPES = 4096 };
static Shape uniform[SHAPES], biased[SHAPES], mixed[SHAPES];

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 16) % n;
}

static void fill(Shape *shapes, uint32_t squares_percent) {
    static const Methods *const others[] = {&rectangle, &triangle, &cross};
    for (int i = 0; i < SHAPES; i++) {
        int is_square = random_below(100) < squares_percent;
        shapes[i] = (Shape){is_square ? &square : others[random_below(3)], random_below(100), random_below(100)};
    }
}

// The three walks are separate functions, so that each has call sites, and a profile, of its own.
__attribute__((noinline)) static uint32_t walk_uniform(Shape *shapes) {
    uint32_t sum = 0;
    for (Shape *s = shapes; s < shapes + SHAPES; s++) sum += s->methods->area(s);
    return sum;
}

__attribute__((noinline)) static uint32_t walk_biased(Shape *shapes) {
    uint32_t sum = 0;
    for (Shape *s = shapes; s < shapes + SHAPES; s++) {
        s->methods->grow(s, 3);
        sum = sum * 31 + s->methods->area(s);
    }
    return sum;
}

__attribute__((noinline)) static uint32_t walk_mixed(Shape *shapes) {
    uint32_t sum = 0;
    for (Shape *s = shapes; s < shapes + SHAPES; s++) {
        sum = sum * 31 + s->methods->perimeter(s);
        if (sum & 1) s->methods->grow(s, sum & 7);
    }
    return sum;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 12000;
    fill(uniform, 100);
    fill(biased, 95);
    fill(mixed, 25);
    uint32_t a = 0, b = 0, c = 0;
    for (int i = 0; i < rounds; i++) {
        a += walk_uniform(uniform);
        b += walk_biased(biased);
        if (i % 4 == 0) c += walk_mixed(mixed);
    }
    printf("vcall %d: uniform %08x, biased %08x, mixed %08x\n", rounds, a, b, c);
    return 0;
}
