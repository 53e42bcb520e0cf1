// An MCS lock: who waits spins on a node of its own, which stands on its stack. Nothing is left that SC
// does not do.

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <assert.h>
typedef struct mcs_node {
    _Atomic(struct mcs_node *) next;
    atomic_uint_fast8_t locked;
} mcs_node_t;
typedef struct { _Atomic(mcs_node_t *) tail; } mcs_lock_t;
static mcs_lock_t the_lock = { NULL };
static uint32_t counter = UINT32_C(0);
static void mcs_acquire(mcs_lock_t *lock, mcs_node_t *node) {
    atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&node->locked, 1, memory_order_relaxed);
    mcs_node_t *prev = atomic_exchange_explicit(&lock->tail, node, memory_order_acq_rel);
    if (prev != NULL) {
        atomic_store_explicit(&prev->next, node, memory_order_release);
        while (atomic_load_explicit(&node->locked, memory_order_acquire)) { __builtin_ia32_pause(); }
    }
}
static void mcs_release(mcs_lock_t *lock, mcs_node_t *node) {
    mcs_node_t *next = atomic_load_explicit(&node->next, memory_order_acquire);
    if (!next) {
        mcs_node_t *expected = node;
        if (atomic_compare_exchange_strong_explicit(&lock->tail, &expected, NULL,
                memory_order_release, memory_order_relaxed))
            return;
        while (!(next = atomic_load_explicit(&node->next, memory_order_acquire))) { }
    }
    atomic_store_explicit(&next->locked, 0, memory_order_release);
}
static void *thread_main(void *arg) {
    mcs_node_t me = { 0 };
    mcs_acquire(&the_lock, &me);
    counter = counter + 1u;
    mcs_release(&the_lock, &me);
    return arg;
}
int main(void) {
    enum { NTHREADS = 2 };
    pthread_t tid[NTHREADS];
    for (unsigned i = 0; i < NTHREADS; i++) {
        int rc = pthread_create(&tid[i], NULL, thread_main, NULL);
        assert(rc == 0);
    }
    for (unsigned i = 0; i < NTHREADS; i++) pthread_join(tid[i], NULL);
    assert(counter == NTHREADS);
    return 0;
}
