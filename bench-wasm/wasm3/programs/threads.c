// threads: workers take tasks from a bounded queue, and add up what they find; a barrier joins them between rounds.
// Usage: threads [WORKERS] [TASKS]
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 8, MOST_WORKERS = 16, ROUNDS = 3 };

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    uint32_t tasks[ROOM];
    unsigned first, count;
} Queue;

static Queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};
static pthread_barrier_t barrier;
static atomic_uint done;
static _Atomic uint64_t longest;
static uint64_t sums[MOST_WORKERS];
static _Thread_local unsigned worker;

static void put(uint32_t task) {
    pthread_mutex_lock(&queue.lock);
    while (queue.count == ROOM) pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.tasks[(queue.first + queue.count++) % ROOM] = task;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static uint32_t take(void) {
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0) pthread_cond_wait(&queue.not_empty, &queue.lock);
    uint32_t task = queue.tasks[queue.first];
    queue.first = (queue.first + 1) % ROOM;
    queue.count--;
    pthread_cond_signal(&queue.not_full);
    pthread_mutex_unlock(&queue.lock);
    return task;
}

// The number of steps from n to 1 in Collatz' problem.
static uint32_t steps(uint64_t n) {
    uint32_t count = 0;
    for (; n != 1; count++) n = n % 2 ? 3 * n + 1 : n / 2;
    return count;
}

static void work(uint32_t task) {
    for (uint64_t n = 50ull * task + 1; n <= 50ull * task + 50; n++) {
        uint64_t found = (uint64_t)steps(n) << 32 | n, before = longest;
        sums[worker] += found >> 32;
        while (found > before && !atomic_compare_exchange_weak(&longest, &before, found)) {}
    }
    atomic_fetch_add(&done, 1);
}

static void *run(void *number) {
    worker = (unsigned)(uintptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t task; (task = take()) != UINT32_MAX;) work(task);
        pthread_barrier_wait(&barrier);
    }
    return (void *)(uintptr_t)(worker + 1);
}

int main(int argc, char **argv) {
    unsigned workers = argc > 1 ? strtoul(argv[1], NULL, 10) : 4, tasks = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    if (workers == 0 || workers > MOST_WORKERS) return 2;
    pthread_t threads[MOST_WORKERS];
    pthread_barrier_init(&barrier, NULL, workers + 1);
    for (unsigned n = 0; n < workers; n++) {
        if (pthread_create(&threads[n], NULL, run, (void *)(uintptr_t)n)) return 3;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t task = 0; task < tasks; task++) put(round * tasks + task);
        for (unsigned n = 0; n < workers; n++) put(UINT32_MAX);
        pthread_barrier_wait(&barrier);
        printf("round %d: %u tasks\n", round, done);
    }
    uint64_t sum = 0, numbers = 0;
    for (unsigned n = 0; n < workers; n++) {
        void *result;
        pthread_join(threads[n], &result);
        numbers += (uintptr_t)result;
        sum += sums[n];
    }
    printf("%llu steps, at most %u of %u; workers %llu\n", (unsigned long long)sum, (unsigned)(longest >> 32), (unsigned)longest,
        (unsigned long long)numbers);
}
