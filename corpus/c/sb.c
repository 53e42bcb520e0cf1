// Store buffering: each thread stores to one variable and loads the other. Under SC one of them sees
// the store of the other; under TSO and PSO both loads can overtake the stores.
//
// What stands between store and load: -DFENCED a fence of the compiler, -DASM `mfence` in assembly,
// -DLOCKED a locked instruction on the stack in assembly, which is a full fence, too, and changes
// nothing that others see. -DXCHG stores by an atomic exchange.

#include <assert.h>
#include <pthread.h>

#if defined FENCED
#define FENCE() __sync_synchronize()
#elif defined ASM
#define FENCE() __asm__ volatile("mfence" ::: "memory")
#elif defined LOCKED
#define FENCE() __asm__ volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc")
#else
#define FENCE() ((void)0)
#endif

#ifdef XCHG
#define STORE(x, v) ((void)__atomic_exchange_n(&(x), v, __ATOMIC_SEQ_CST))
#else
#define STORE(x, v) ((void)((x) = (v)))
#endif

static volatile int x, y;
static int r, s;

static void *left(void *arg) {
    (void)arg;
    STORE(x, 1);
    FENCE();
    r = y;
    return NULL;
}

static void *right(void *arg) {
    (void)arg;
    STORE(y, 1);
    FENCE();
    s = x;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, left, NULL);
    pthread_create(&t[1], NULL, right, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(r == 1 || s == 1);
    return 0;
}
