// Two threads store to the same two variables, in opposite order. Not both of the first stores are
// the last ones in memory, under SC and TSO; under PSO they can be.

#include <assert.h>
#include <pthread.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

static volatile int x, y;

static void *left(void *arg) {
    (void)arg;
    x = 1;
    STORE_FENCE();
    y = 2;
    return NULL;
}

static void *right(void *arg) {
    (void)arg;
    y = 1;
    STORE_FENCE();
    x = 2;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, left, NULL);
    pthread_create(&t[1], NULL, right, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(!(x == 1 && y == 1));
    return 0;
}
