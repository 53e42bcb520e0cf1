// Message passing and store buffering by the atomics of C11, whose orders ORDERS chooses:
//   0  all relaxed: under TSO the loads overtake the stores, under PSO also the flag the data
//   1  release and acquire: message passing holds, store buffering does not
//   2  sequentially consistent: both hold
// Each thread sends data to the other and looks what has come.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef ORDERS
#define ORDERS 0
#endif

#if ORDERS == 0
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#elif ORDERS == 1
#define STORE memory_order_release
#define LOAD memory_order_acquire
#else
#define STORE memory_order_seq_cst
#define LOAD memory_order_seq_cst
#endif

static atomic_int data[2], ready[2];

static void *run(void *arg) {
    int me = (int)(intptr_t)arg;
    atomic_store_explicit(&data[me], 42, memory_order_relaxed);
    atomic_store_explicit(&ready[me], 1, STORE);
    if (atomic_load_explicit(&ready[1 - me], LOAD)) {
        int d = atomic_load_explicit(&data[1 - me], memory_order_relaxed);
        assert(d == 42);
        return &data;
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    void *a, *b;
    for (intptr_t i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, run, (void *)i);
    }
    pthread_join(t[0], &a);
    pthread_join(t[1], &b);
    // One of them has seen the other.
    assert(a != NULL || b != NULL);
    return 0;
}
