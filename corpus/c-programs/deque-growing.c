// A work-stealing queue whose array is on the heap and is replaced by a larger one when it is full,
// which it never is here: what would allocate more is not reached.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NOTHING (-1)

struct array {
    size_t size;
    atomic_int slot[];
};

struct deque {
    atomic_size_t top, bottom;
    _Atomic(struct array *) array;
};

static struct deque deque;
static atomic_int taken[2];

static struct array *new_array(size_t size) {
    struct array *a = malloc(sizeof(struct array) + size * sizeof(atomic_int));
    a->size = size;
    return a;
}

static void grow(struct deque *q, size_t top, size_t bottom) {
    struct array *old = atomic_load_explicit(&q->array, memory_order_relaxed);
    struct array *new = new_array(2 * old->size);
    for (size_t i = top; i < bottom; i++)
        new->slot[i % new->size] = old->slot[i % old->size];
    atomic_store_explicit(&q->array, new, memory_order_release);
}

static void push(struct deque *q, int task) {
    size_t b = atomic_load_explicit(&q->bottom, memory_order_relaxed);
    size_t t = atomic_load_explicit(&q->top, memory_order_acquire);
    struct array *a = atomic_load_explicit(&q->array, memory_order_relaxed);
    if (b - t == a->size) {
        grow(q, t, b);
        a = atomic_load_explicit(&q->array, memory_order_relaxed);
    }
    atomic_store_explicit(&a->slot[b % a->size], task, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&q->bottom, b + 1, memory_order_relaxed);
}

static int take(struct deque *q) {
    size_t b = atomic_load_explicit(&q->bottom, memory_order_relaxed) - 1;
    struct array *a = atomic_load_explicit(&q->array, memory_order_relaxed);
    atomic_store_explicit(&q->bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    size_t t = atomic_load_explicit(&q->top, memory_order_relaxed);
    int task = NOTHING;
    if ((long)(b - t) >= 0) {
        task = atomic_load_explicit(&a->slot[b % a->size], memory_order_relaxed);
        if (b != t)
            return task;
        if (!atomic_compare_exchange_strong_explicit(&q->top, &t, t + 1, memory_order_seq_cst,
                                                     memory_order_relaxed))
            task = NOTHING;
    }
    atomic_store_explicit(&q->bottom, b + 1, memory_order_relaxed);
    return task;
}

static int steal(struct deque *q) {
    size_t t = atomic_load_explicit(&q->top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    size_t b = atomic_load_explicit(&q->bottom, memory_order_acquire);
    if (t >= b)
        return NOTHING;
    struct array *a = atomic_load_explicit(&q->array, memory_order_consume);
    int task = atomic_load_explicit(&a->slot[t % a->size], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&q->top, &t, t + 1, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return NOTHING;
    return task;
}

static void done(int task) {
    if (task != NOTHING)
        assert(atomic_fetch_add(&taken[task], 1) == 0 && "a task is taken twice");
}

static void *thief(void *unused) {
    (void)unused;
    done(steal(&deque));
    return NULL;
}

int main(void) {
    pthread_t t;
    atomic_init(&deque.array, new_array(2));
    pthread_create(&t, NULL, thief, NULL);
    push(&deque, 0);
    push(&deque, 1);
    done(take(&deque));
    done(take(&deque));
    pthread_join(t, NULL);
    assert(taken[0] == 1 && taken[1] == 1);
    return 0;
}
