// The non-blocking queue of Michael and Scott ("Simple, fast, and practical non-blocking and blocking
// concurrent queue algorithms", 1996). A list of nodes from `head`, whose node is a dummy, to `tail`,
// which may lag one node behind. Nodes are not used again, so the counters that the publication
// keeps beside its pointers are left out.
//
// The queue is empty at first. One thread enqueues 7 and dequeues, the other one dequeues and
// enqueues 8.
//
// All links are made by atomic updates. Where an update waits for all stores of its thread nothing
// breaks. Where it waits only for those to its own address, which is the PSO of the papers on
// monitoring, the node is linked before its `value` is in memory, or `next = NULL` comes so late that
// it cuts off the node behind. A store-store fence before the node is linked mends that.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

#define CAS(p, old, new) __sync_bool_compare_and_swap(p, old, new)

struct node {
    volatile int value;
    struct node *volatile next;
};

static struct node dummy;
static struct node *volatile head = &dummy;
static struct node *volatile tail = &dummy;

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = NULL;
    STORE_FENCE();
    struct node *t;
    for (;;) {
        t = tail;
        struct node *next = t->next;
        if (t != tail) {
            continue;
        }
        if (next != NULL) {
            (void)CAS(&tail, t, next);
        } else if (CAS(&t->next, NULL, node)) {
            break;
        }
    }
    (void)CAS(&tail, t, node);
}

// The oldest value, or 0 if the queue is empty.
static int dequeue(void) {
    for (;;) {
        struct node *h = head;
        struct node *t = tail;
        struct node *next = h->next;
        if (h != head) {
            continue;
        }
        if (h == t) {
            if (next == NULL) {
                return 0;
            }
            (void)CAS(&tail, t, next);
        } else {
            assert(next != NULL);
            int value = next->value;
            if (CAS(&head, h, next)) {
                assert(value != 0);
                return value;
            }
        }
    }
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
