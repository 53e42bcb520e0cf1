// A pointer that is published, and a flag that says so. As it stands the flag comes first: even under
// SC a reader in between follows NULL, and the program crashes. -DORDERED stores the pointer first,
// which is enough under SC and TSO; under PSO the flag can overtake it. -DFENCED keeps them in order.

#include <pthread.h>
#include <stddef.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

static volatile int value = 42;
static volatile int *volatile pointer;
static volatile int ready;

static void *publish(void *arg) {
    (void)arg;
#ifdef ORDERED
    pointer = &value;
    STORE_FENCE();
    ready = 1;
#else
    ready = 1;
    STORE_FENCE();
    pointer = &value;
#endif
    return NULL;
}

static void *follow(void *arg) {
    (void)arg;
    if (ready) {
        return (void *)(size_t)*pointer;
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, publish, NULL);
    pthread_create(&t[1], NULL, follow, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
