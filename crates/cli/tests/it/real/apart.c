// A flag orders the accesses to `data`; nothing orders those to `last`.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static int data;
static atomic_int flag;
static atomic_int last;

static void *one(void *arg) {
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    for (int i = 0; i < 3; i++) {
        atomic_exchange(&last, i);
    }
    return arg;
}

static void *two(void *arg) {
    for (int i = 0; i < 3; i++) {
        atomic_exchange(&last, i);
    }
    if (atomic_load_explicit(&flag, memory_order_acquire)) {
        assert(data == 1);
    }
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
