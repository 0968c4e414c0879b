// mandelbrot: escape times of four points at once; stresses 128-bit SIMD in a loop with a data-dependent exit.
// Usage: mandelbrot [WIDTH]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The few vector operations needed: wasm intrinsics, or the compiler's vectors elsewhere with the same results.
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
typedef v128_t Floats;
typedef v128_t Ints;
#define splat(x) wasm_f32x4_splat(x)
#define add(a, b) wasm_f32x4_add(a, b)
#define sub(a, b) wasm_f32x4_sub(a, b)
#define mul(a, b) wasm_f32x4_mul(a, b)
#define at_most(a, b) wasm_f32x4_le(a, b)
#define ramp() wasm_f32x4_make(0, 1, 2, 3)
#define no_counts() wasm_i32x4_const_splat(0)
#define count_down(counts, mask) wasm_i32x4_sub(counts, mask)
#define any(mask) wasm_v128_any_true(mask)
#define store(p, v) wasm_v128_store(p, v)
#else
#include <string.h>
typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
#define splat(x) ((Floats){x, x, x, x})
#define add(a, b) ((a) + (b))
#define sub(a, b) ((a) - (b))
#define mul(a, b) ((a) * (b))
#define at_most(a, b) ((a) <= (b))
#define ramp() ((Floats){0, 1, 2, 3})
#define no_counts() ((Ints){0, 0, 0, 0})
#define count_down(counts, mask) ((counts) - (mask))
#define any(mask) ((mask)[0] | (mask)[1] | (mask)[2] | (mask)[3])
#define store(p, v) memcpy(p, &(v), 16)
#endif

enum { MAX_STEPS = 400 };

// Escape times of the four points (cx[0..4], cy); a true lane of a comparison is -1, so subtracting it counts up.
__attribute__((noinline)) static void escape_times(Floats cx, Floats cy, int32_t times[4]) {
    Floats x = splat(0.0f), y = splat(0.0f);
    Ints counts = no_counts();
    for (int step = 0; step < MAX_STEPS; step++) {
        Floats xx = mul(x, x), yy = mul(y, y), xy = mul(x, y);
        Ints inside = at_most(add(xx, yy), splat(4.0f));
        if (!any(inside)) break;
        counts = count_down(counts, inside);
        x = add(sub(xx, yy), cx);
        y = add(add(xy, xy), cy);
    }
    store(times, counts);
}

int main(int argc, char **argv) {
    int width = argc > 1 ? atoi(argv[1]) & ~3 : 2000, height = width * 2 / 3;
    float scale = 3.0f / (float)width;
    uint32_t inside = 0, sum = 0;
    for (int row = 0; row < height; row++) {
        Floats cy = splat((float)row * scale - 1.0f);
        for (int column = 0; column < width; column += 4) {
            Floats cx = sub(mul(add(ramp(), splat((float)column)), splat(scale)), splat(2.0f));
            int32_t times[4];
            escape_times(cx, cy, times);
            for (int i = 0; i < 4; i++) {
                inside += times[i] == MAX_STEPS;
                sum = sum * 31 + (uint32_t)times[i];
            }
        }
    }
    printf("mandelbrot %dx%d: %u inside, checksum %08x\n", width, height, inside, sum);
    return 0;
}
