// The ticket lock: an atomic increment draws a number, and a store calls the next one. Each thread
// enters ROUNDS times and adds one to a counter.
//
// TSO is harmless: the store that calls the next number cannot overtake the store to the counter.
// Under PSO it can, and the next thread reads an old counter. The fence before a number is drawn is
// needed only where an update waits for no more than the stores to its own address, for ROUNDS above
// 1, and harms nobody if it is missing.

#include <assert.h>
#include <pthread.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

static volatile int next_ticket, serving;
static volatile int count;

static void lock(void) {
    STORE_FENCE();
    int mine = __sync_fetch_and_add(&next_ticket, 1);
    while (serving != mine) {
    }
}

static void unlock(void) {
    STORE_FENCE();
    serving = serving + 1;
}

static void *enter(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        lock();
        count = count + 1;
        unlock();
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, enter, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    assert(count == 2 * ROUNDS);
    return 0;
}
