// Read-copy update by liburcu: what a reader may still see is not freed before it is done. Without the
// grace period (BROKEN) it may be. With MEMB readers have no fences, and whoever waits for them uses
// membarrier(2). Built by scripts/real-library.

#ifdef MEMB
#define RCU_MEMBARRIER
#else
#define RCU_MB
#endif
#include <urcu.h>

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int *shared;

static void *reader(void *arg) {
    (void)arg;
    rcu_register_thread();
    rcu_read_lock();
    int *seen = rcu_dereference(shared);
    assert(*seen == 1 || *seen == 2);
    rcu_read_unlock();
    rcu_unregister_thread();
    return 0;
}

static void *writer(void *arg) {
    (void)arg;
    int *new = malloc(sizeof *new), *old = shared;
    *new = 2;
    rcu_assign_pointer(shared, new);
#ifndef BROKEN
    synchronize_rcu();
#endif
    *old = 0;
    free(old);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    shared = malloc(sizeof *shared);
    *shared = 1;
    pthread_create(&threads[0], 0, reader, 0);
    pthread_create(&threads[1], 0, writer, 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
    }
    return 0;
}
