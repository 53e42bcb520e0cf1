// A lock by exchange (__sync_lock_test_and_set), released by a store. Each thread enters ROUNDS
// times and adds one to a counter. While the lock is taken a thread waits with the instruction
// `pause` in assembly, which is no access to memory.
//
// TSO is harmless: the store that releases the lock cannot overtake the store to the counter. Under
// PSO it can, and the next thread reads an old counter. -DFENCED releases by __sync_lock_release,
// which is a release store, -DASM by a store behind an `mfence` in assembly.

#include <assert.h>
#include <pthread.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

static volatile int taken;
static volatile int count;

static void lock(void) {
    while (__sync_lock_test_and_set(&taken, 1)) {
        while (taken) {
            __asm__ volatile("pause");
        }
    }
}

static void unlock(void) {
#ifdef FENCED
    __sync_lock_release(&taken);
#else
#ifdef ASM
    __asm__ volatile("mfence" ::: "memory");
#endif
    taken = 0;
#endif
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
