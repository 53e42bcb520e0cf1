// Lamport's bakery ("A new solution of Dijkstra's concurrent programming problem", 1974) for two
// threads. Each thread takes a ticket ROUNDS times and adds one to a counter.
//
// Under TSO and PSO a thread can look at the other's ticket before its own `choosing` or its own
// ticket is in memory, and both are served. With -DFENCED nothing is left that SC does not do: also
// the end of choosing is in memory before the thread looks at the other one.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

#ifdef FENCED
#define FENCE() __sync_synchronize()
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define FENCE() ((void)0)
#define STORE_FENCE() ((void)0)
#endif

static volatile int choosing[2];
static volatile int number[2];
static volatile int count;

static void lock(int me) {
    choosing[me] = 1;
    FENCE();
    int mine = number[1 - me] + 1;
    number[me] = mine;
    STORE_FENCE();
    choosing[me] = 0;
    FENCE();
    while (choosing[1 - me]) {
    }
    for (;;) {
        int other = number[1 - me];
        if (other == 0 || mine < other || (mine == other && me == 0)) {
            return;
        }
    }
}

static void unlock(int me) {
    STORE_FENCE();
    number[me] = 0;
}

static void *enter(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        lock(me);
        count = count + 1;
        unlock(me);
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
