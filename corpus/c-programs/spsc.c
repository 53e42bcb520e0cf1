// A ring between one producer and one consumer. Each index has one writer; release and acquire
// are enough for what it promises, under PSO as well. It is not robust: both may see an old index of
// the other, where under SC one of them sees the new one; then each tries again.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SIZE 2
#define ITEMS 3

struct ring {
    _Atomic size_t head;
    _Atomic size_t tail;
    int slot[SIZE];
};

static struct ring ring;

static bool push(struct ring *r, int value) {
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&r->head, memory_order_acquire) == SIZE)
        return false;
    r->slot[tail % SIZE] = value;
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
    return true;
}

static bool pop(struct ring *r, int *value) {
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head == atomic_load_explicit(&r->tail, memory_order_acquire))
        return false;
    *value = r->slot[head % SIZE];
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return true;
}

static void *produce(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++) {
        while (!push(&ring, i))
            ;
    }
    return NULL;
}

static void *consume(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++) {
        int value;
        while (!pop(&ring, &value))
            ;
        assert(value == i);
    }
    return NULL;
}

int main(void) {
    pthread_t producer, consumer;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    assert(ring.head == ITEMS && ring.tail == ITEMS);
    return 0;
}
