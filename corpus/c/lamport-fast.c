// Lamport's "A fast mutual exclusion algorithm" (1987), algorithm 2, for two threads, which call
// themselves 1 and 2. Each thread enters ROUNDS times and adds one to a counter.
//
// Under TSO and PSO the look at `y` overtakes the store to `x`, and the second look at `x` overtakes
// the store to `y`: both threads believe that they are alone. With -DFENCED nothing is left that SC
// does not do; some of the store-store fences are needed for no more than that.

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

static volatile int b[3];
static volatile int x, y;
static volatile int count;

static void lock(int me) {
    int id = me + 1;
    for (;;) {
        b[id] = 1;
        STORE_FENCE();
        x = id;
        FENCE();
        if (y != 0) {
            b[id] = 0;
            FENCE();
            while (y != 0) {
            }
            continue;
        }
        y = id;
        FENCE();
        if (x != id) {
            b[id] = 0;
            FENCE();
            while (b[3 - id]) {
            }
            if (y != id) {
                while (y != 0) {
                }
                continue;
            }
        }
        return;
    }
}

static void unlock(int me) {
    STORE_FENCE();
    y = 0;
    STORE_FENCE();
    b[me + 1] = 0;
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
