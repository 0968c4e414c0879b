// nbody: gravity between a handful of bodies, leapfrog steps; stresses f64 arithmetic, square roots and divisions.
// Usage: nbody [STEPS]
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 6 };

typedef struct {
    double x, y, z, vx, vy, vz, mass;
} Body;

// A heavy body in the middle and lighter ones on inclined, roughly circular orbits.
static void place(Body *body) {
    body[0] = (Body){.mass = 100.0};
    for (int i = 1; i < BODIES; i++) {
        double distance = 2.0 * i + 1.0, speed = sqrt(100.0 / distance);
        int side = i % 2 ? 1 : -1;
        body[i] = (Body){.x = side * distance, .y = 0.25 * i, .vz = 0.125 * side, .vy = side * speed, .mass = 0.01 * i};
    }
}

__attribute__((noinline)) static void accelerate(Body *body, double dt) {
    for (int i = 0; i < BODIES; i++)
        for (int j = i + 1; j < BODIES; j++) {
            Body *a = &body[i], *b = &body[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            double square = dx * dx + dy * dy + dz * dz;
            double pull = dt / (square * sqrt(square));
            a->vx -= dx * b->mass * pull;
            a->vy -= dy * b->mass * pull;
            a->vz -= dz * b->mass * pull;
            b->vx += dx * a->mass * pull;
            b->vy += dy * a->mass * pull;
            b->vz += dz * a->mass * pull;
        }
}

static void move(Body *body, double dt) {
    for (Body *b = body; b < body + BODIES; b++) {
        b->x += b->vx * dt;
        b->y += b->vy * dt;
        b->z += b->vz * dt;
    }
}

static double energy(const Body *body) {
    double e = 0;
    for (int i = 0; i < BODIES; i++) {
        const Body *a = &body[i];
        e += 0.5 * a->mass * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz);
        for (int j = i + 1; j < BODIES; j++) {
            const Body *b = &body[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            e -= a->mass * b->mass / sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return e;
}

static unsigned long long bits(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 3000000;
    Body body[BODIES];
    place(body);
    double before = energy(body);
    for (int i = 0; i < steps; i++) {
        accelerate(body, 0.001);
        move(body, 0.001);
    }
    printf("nbody %d: energy %.9f -> %.9f, checksum %016llx\n", steps, before, energy(body), bits(body[1].x + body[2].y));
    return 0;
}
