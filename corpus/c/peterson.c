// Peterson's algorithm ("Myths about the mutual exclusion problem", 1981). Each thread enters ROUNDS
// times and adds one to a counter.
//
// Under TSO and PSO both threads can read the old flag of the other while their own stores wait in
// the buffers. Under PSO `turn` can also overtake `flag`, and the store that leaves can overtake the
// store to the counter.

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
    STORE_FENCE();
    turn = 1 - me;
    FENCE();
    while (flag[1 - me] && turn != me) {
    }
}

static void unlock(int me) {
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
