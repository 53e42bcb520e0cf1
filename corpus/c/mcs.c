// The queue lock of Mellor-Crummey and Scott ("Algorithms for scalable synchronization on
// shared-memory multiprocessors", 1991). Each of THREADS threads enters ROUNDS times and adds one to
// a counter.
//
// TSO is harmless: a thread joins the queue by an atomic update, and the store that releases its
// successor cannot overtake the store to the counter. Under PSO it can, and the successor reads an
// old counter. PSO may also swap the stores to `locked` and `next` of a thread that joins; then its
// predecessor can release it too early, and it waits for ever.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

#ifndef THREADS
#define THREADS 2
#endif

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

struct node {
    struct node *volatile next;
    volatile int locked;
};

static struct node nodes[THREADS];
static struct node *volatile tail;
static volatile int count;

static void lock(int me) {
    struct node *mine = &nodes[me];
    mine->next = NULL;
    STORE_FENCE();
    struct node *pred = __atomic_exchange_n(&tail, mine, __ATOMIC_SEQ_CST);
    if (pred != NULL) {
        mine->locked = 1;
        STORE_FENCE();
        pred->next = mine;
        while (mine->locked) {
        }
    }
}

static void unlock(int me) {
    struct node *mine = &nodes[me];
    struct node *succ = mine->next;
    if (succ == NULL) {
        STORE_FENCE();
        if (__sync_bool_compare_and_swap(&tail, mine, NULL)) {
            return;
        }
        while ((succ = mine->next) == NULL) {
        }
    }
    STORE_FENCE();
    succ->locked = 0;
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
    pthread_t t[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, enter, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    assert(count == THREADS * ROUNDS);
    return 0;
}
