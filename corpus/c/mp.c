// Message passing: data, then a flag that says that it is there. Under SC and TSO who sees the flag
// sees the data; under PSO the flag can overtake the data.
//
// What stands between the stores: -DFENCED a release fence, -DASM `sfence` in assembly. -DRELEASE
// stores the flag by a release store. -DWAIT makes the reader wait for the flag, where it otherwise
// looks once.

#include <assert.h>
#include <pthread.h>

#if defined FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#elif defined ASM
#define STORE_FENCE() __asm__ volatile("sfence" ::: "memory")
#else
#define STORE_FENCE() ((void)0)
#endif

static volatile int data, ready;

static void *write_data(void *arg) {
    (void)arg;
    data = 42;
    STORE_FENCE();
#ifdef RELEASE
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
#else
    ready = 1;
#endif
    return NULL;
}

static void *read_data(void *arg) {
    (void)arg;
#ifdef WAIT
    while (!ready) {
    }
    assert(data == 42);
#else
    if (ready) {
        assert(data == 42);
    }
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, write_data, NULL);
    pthread_create(&t[1], NULL, read_data, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
