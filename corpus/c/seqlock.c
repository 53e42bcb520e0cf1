// A sequence lock, as in the Linux kernel: the writer makes the number odd, writes, and makes it even
// again; the reader reads again if the number was odd or has changed.
//
// TSO is harmless, since the writer only stores and the reader only loads. Under PSO the data can
// overtake the first number or be overtaken by the second one, and the reader sees half of it.

#include <assert.h>
#include <pthread.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

static volatile int number;
static volatile int a, b;

static void *write_both(void *arg) {
    (void)arg;
    number = 1;
    STORE_FENCE();
    a = 1;
    b = 1;
    STORE_FENCE();
    number = 2;
    return NULL;
}

static void *read_both(void *arg) {
    (void)arg;
    int before, x, y;
    do {
        while ((before = number) % 2 != 0) {
        }
        x = a;
        y = b;
    } while (number != before);
    assert(x == y);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, write_both, NULL);
    pthread_create(&t[1], NULL, read_both, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
