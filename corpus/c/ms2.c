// The queue with two locks of Michael and Scott ("Simple, fast, and practical non-blocking and
// blocking concurrent queue algorithms", 1996). A list of nodes from `head`, whose node is a dummy,
// to `tail`. One lock for each end, taken by compare-and-swap, released by a store.
//
// The queue is empty at first. One thread enqueues 7 and dequeues, the other one dequeues and
// enqueues 8.
//
// TSO is harmless: a release comes after the stores that the lock protects, and whatever an operation
// reads it reads after taking a lock. Under PSO the release can overtake these stores, and elements
// are lost or dequeued twice. The fence before taking a lock is needed only where a compare-and-swap
// waits for no more than the stores to its own address: the node is filled before it is linked.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

struct node {
    volatile int value;
    struct node *volatile next;
};

static struct node dummy;
static struct node *volatile head = &dummy;
static struct node *volatile tail = &dummy;
static volatile int head_lock, tail_lock;

static void lock(volatile int *l) {
    STORE_FENCE();
    while (!__sync_bool_compare_and_swap(l, 0, 1)) {
    }
}

static void unlock(volatile int *l) {
    STORE_FENCE();
    *l = 0;
}

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = NULL;
    lock(&tail_lock);
    struct node *t = tail;
    t->next = node;
    tail = node;
    unlock(&tail_lock);
}

// The oldest value, or 0 if the queue is empty.
static int dequeue(void) {
    int value = 0;
    lock(&head_lock);
    struct node *h = head;
    struct node *next = h->next;
    if (next != NULL) {
        value = next->value;
        assert(value != 0);
        head = next;
    }
    unlock(&head_lock);
    return value;
}

static void *enqueue_first(void *arg) {
    (void)arg;
    enqueue(7);
    return (void *)(intptr_t)dequeue();
}

static void *dequeue_first(void *arg) {
    (void)arg;
    int value = dequeue();
    enqueue(8);
    return (void *)(intptr_t)value;
}

int main(void) {
    pthread_t t[2];
    void *a, *b;
    pthread_create(&t[0], NULL, enqueue_first, NULL);
    pthread_create(&t[1], NULL, dequeue_first, NULL);
    pthread_join(t[0], &a);
    pthread_join(t[1], &b);
    // No element is dequeued twice, and not both threads find the queue empty.
    assert(a != b);
    // The list links both nodes.
    struct node *first = dummy.next;
    assert(first != NULL);
    struct node *second = first->next;
    assert(second != NULL && second->next == NULL);
    assert(first->value + second->value == 15);
    return 0;
}
