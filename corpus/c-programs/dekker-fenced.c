// Dekker's algorithm in the style of C11, with its threads, relaxed accesses and fences.

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <threads.h>

#define LOG(...) fprintf(stderr, __VA_ARGS__)

typedef struct {
    atomic_bool wants[2];
    atomic_int turn;
} dekker_t;

static dekker_t mutex = {.turn = ATOMIC_VAR_INIT(0)};
static int count;

static void dekker_lock(dekker_t *m, int me) {
    atomic_store_explicit(&m->wants[me], true, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    while (atomic_load_explicit(&m->wants[!me], memory_order_relaxed)) {
        if (atomic_load_explicit(&m->turn, memory_order_relaxed) == me)
            continue;
        atomic_store_explicit(&m->wants[me], false, memory_order_relaxed);
        while (atomic_load_explicit(&m->turn, memory_order_relaxed) != me)
            thrd_yield();
        atomic_store_explicit(&m->wants[me], true, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
    atomic_thread_fence(memory_order_acquire);
}

static void dekker_unlock(dekker_t *m, int me) {
    atomic_store_explicit(&m->turn, !me, memory_order_release);
    atomic_store_explicit(&m->wants[me], false, memory_order_release);
}

static int enter(void *arg) {
    int me = *(int *)arg;
    dekker_lock(&mutex, me);
    int now = ++count;
    dekker_unlock(&mutex, me);
    return now <= 2 ? thrd_success : thrd_error;
}

int main(void) {
    thrd_t threads[2];
    int numbers[2] = {0, 1}, result;
    for (int i = 0; i < 2; i++)
        if (thrd_create(&threads[i], enter, &numbers[i]) != thrd_success)
            return 1;
    for (int i = 0; i < 2; i++) {
        thrd_join(threads[i], &result);
        assert(result == thrd_success);
    }
    LOG("%d threads, count %d\n", 2, count);
    assert(count == 2);
    return 0;
}
