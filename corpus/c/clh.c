// The queue lock of Craig, Landin and Hagersten (1993, 1994). A node is one cell, 1 while its owner
// has or wants the lock; a thread waits for the node of its predecessor and keeps that node for the
// next time. Each thread enters ROUNDS times and adds one to a counter.
//
// TSO is harmless: a thread joins the queue by an atomic update, and the store that releases the lock
// cannot overtake the store to the counter. Under PSO it can, and the next thread reads an old
// counter.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

static volatile int nodes[3];
static volatile int *volatile tail = &nodes[2];
static volatile int count;

static volatile int *lock(volatile int *mine) {
    *mine = 1;
    STORE_FENCE();
    volatile int *pred = __atomic_exchange_n(&tail, mine, __ATOMIC_SEQ_CST);
    while (*pred) {
    }
    return pred;
}

static void unlock(volatile int *mine) {
    STORE_FENCE();
    *mine = 0;
}

static void *enter(void *arg) {
    volatile int *mine = &nodes[(intptr_t)arg];
    for (int i = 0; i < ROUNDS; i++) {
        volatile int *pred = lock(mine);
        count = count + 1;
        unlock(mine);
        mine = pred;
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (intptr_t i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, enter, (void *)i);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    assert(count == 2 * ROUNDS);
    return 0;
}
