// The work-stealing queue of Chase and Lev in C11. The owner takes a task from the bottom: its load
// of `top` overtakes its store of `bottom`, and the last task is taken twice.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define TASKS 2

static atomic_int top, bottom;
static int task[TASKS];
static atomic_int taken[TASKS + 1];

static void push(int value) {
    int b = atomic_load_explicit(&bottom, memory_order_relaxed);
    task[b] = value;
    atomic_store_explicit(&bottom, b + 1, memory_order_release);
}

static int take(void) {
    int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&bottom, b, memory_order_relaxed);
    int t = atomic_load_explicit(&top, memory_order_relaxed);
    int value = 0;
    if (t <= b) {
        value = task[b];
        if (t == b) {
            if (!atomic_compare_exchange_strong(&top, &t, t + 1))
                value = 0;
            atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
        }
    } else {
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    }
    return value;
}

static int steal(void) {
    int t = atomic_load_explicit(&top, memory_order_acquire);
    int b = atomic_load_explicit(&bottom, memory_order_acquire);
    if (t >= b)
        return 0;
    int value = task[t];
    if (!atomic_compare_exchange_strong(&top, &t, t + 1))
        return 0;
    return value;
}

static void *thief(void *arg) {
    (void)arg;
    for (int i = 0; i < TASKS; i++)
        atomic_fetch_add(&taken[steal()], 1);
    return NULL;
}

static void *owner(void *arg) {
    (void)arg;
    for (int i = 1; i <= TASKS; i++)
        push(i);
    for (int i = 0; i < TASKS; i++)
        atomic_fetch_add(&taken[take()], 1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, owner, NULL);
    pthread_create(&b, NULL, thief, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (int i = 1; i <= TASKS; i++)
        assert(taken[i] == 1);
    return 0;
}
