// A lock by `lock cmpxchg` in inline assembly. Each thread enters ROUNDS times and adds one to a
// counter.
//
// It is correct on x86. The update of `taken` is invisible to the instrumentation of the compiler:
// who watches accesses must say so, with this file and the line of the assembly.

#include <assert.h>
#include <pthread.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

static volatile int taken;
static volatile int count;

static void lock(void) {
    int old;
    do {
        old = 0;
        __asm__ volatile("lock cmpxchgl %2, %1" : "+a"(old), "+m"(taken) : "r"(1) : "memory", "cc");
    } while (old != 0);
}

static void unlock(void) {
    __asm__ volatile("" ::: "memory");
    taken = 0;
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
