#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#define N 4
static int buffer[N];
static atomic_uint head, tail;
static atomic_int done, asleep;
static int seen_done, seen_asleep;
static int push(int v) {
    unsigned t = atomic_load_explicit(&tail, memory_order_relaxed);
    if (t - atomic_load_explicit(&head, memory_order_acquire) == N) return 0;
    buffer[t % N] = v;
    atomic_store_explicit(&tail, t + 1, memory_order_release);
    return 1;
}
static int pop(int *v) {
    unsigned h = atomic_load_explicit(&head, memory_order_relaxed);
    if (h == atomic_load_explicit(&tail, memory_order_acquire)) return 0;
    *v = buffer[h % N];
    atomic_store_explicit(&head, h + 1, memory_order_release);
    return 1;
}
static void *consumer(void *a) {
    (void)a;
    int v;
    for (int i = 0; i < 3; i++) pop(&v);
    atomic_store_explicit(&asleep, 1, memory_order_relaxed);
    seen_done = atomic_load_explicit(&done, memory_order_relaxed);
    return 0;
}
static void *producer(void *a) {
    (void)a;
    for (int i = 1; i <= 3; i++) push(i);
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    seen_asleep = atomic_load_explicit(&asleep, memory_order_relaxed);
    return 0;
}
int main(void) {
    pthread_t p, c;
    pthread_create(&c, 0, consumer, 0);
    pthread_create(&p, 0, producer, 0);
    pthread_join(p, 0);
    pthread_join(c, 0);
    assert(seen_done || seen_asleep);
    return 0;
}
