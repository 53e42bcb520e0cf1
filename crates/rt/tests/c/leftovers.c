// What a function finds in variables that it has not set is the same in each execution, whatever the library did
// there before.
#include <pthread.h>
#include <stdatomic.h>

static atomic_long turns, found;

__attribute__((noinline)) static long unset(void) {
    volatile long words[380];
    long sum = 0;
    for (int i = 0; i < 380; i++) sum = sum * 31 + words[i];
    return sum;
}

static void *looks(void *arg) {
    for (int i = 0; i < 2; i++) {
        atomic_store(&found, unset());
        atomic_fetch_add(&turns, 1);
    }
    return arg;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, looks, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
