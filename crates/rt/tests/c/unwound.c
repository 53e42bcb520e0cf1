// A thread that ends by pthread_exit creates threads while its functions are cleaned up.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int cleaned;

static void *nothing(void *arg) { return arg; }

static void clean(int *depth) {
    pthread_t threads[12];
    for (int i = 0; i < 12; i++) {
        pthread_create(&threads[i], NULL, nothing, NULL);
    }
    for (int i = 0; i < 12; i++) {
        pthread_join(threads[i], NULL);
    }
    cleaned += *depth;
}

static void __attribute__((noinline)) leave(int n) {
    int depth __attribute__((cleanup(clean))) = n;
    if (n == 0) {
        pthread_exit((void *)42);
    }
    leave(n - 1);
}

static void *body(void *arg) {
    leave(3);
    return arg;
}

int main(void) {
    pthread_t thread;
    void *value;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, &value);
    assert(value == (void *)42);
    assert(cleaned == 6);
}
