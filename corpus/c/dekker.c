// Dekker's algorithm for two threads, as told by Dijkstra in "Cooperating sequential processes"
// (1965). Each thread enters ROUNDS times and adds one to a counter.
//
// Under TSO and PSO the store that announces interest can be overtaken by the load that follows it:
// both threads enter. Under PSO the store that leaves can moreover overtake the store to the
// counter. With -DFENCED nothing is left that SC does not do; the fence after giving way is needed
// for no more than that.

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
static volatile int turn;
static volatile int count;

static void lock(int me) {
    flag[me] = 1;
    FENCE();
    while (flag[1 - me]) {
        if (turn != me) {
            flag[me] = 0;
            FENCE();
            while (turn != me) {
            }
            flag[me] = 1;
            FENCE();
        }
    }
}

static void unlock(int me) {
    turn = 1 - me;
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
