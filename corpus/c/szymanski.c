// Szymanski's algorithm ("A simple solution to Lamport's concurrent programming problem with linear
// wait", 1988) for two threads. A flag says how far its thread is: 0 outside, 1 wants to enter the
// waiting room, 2 waits for others to enter it, 3 stands in its door, 4 has closed it. Each thread
// enters ROUNDS times and adds one to a counter.
//
// Under TSO and PSO a thread looks at the other flag before its own progress can be seen. Two fences
// keep the threads apart; with -DFENCED there are as many as leave nothing that SC does not do.

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

static volatile int flag[2];
static volatile int count;

static void lock(int me) {
    flag[me] = 1;
    FENCE();
    while (flag[1 - me] > 2) {
    }
    flag[me] = 3;
    FENCE();
    if (flag[1 - me] == 1) {
        flag[me] = 2;
        FENCE();
        while (flag[1 - me] != 4) {
        }
    }
    flag[me] = 4;
    FENCE();
    if (me == 1) {
        while (flag[0] > 1) {
        }
    }
}

static void unlock(int me) {
    if (me == 0) {
        for (;;) {
            int f = flag[1];
            if (f <= 1 || f == 4) {
                break;
            }
        }
    }
    STORE_FENCE();
    flag[me] = 0;
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
