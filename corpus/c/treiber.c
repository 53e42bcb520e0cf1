// Treiber's lock-free stack ("Systems programming: coping with parallelism", 1986). Each of two
// threads pushes a value and pops one; nodes are not used again.
//
// A node is published by an atomic update. Where an update waits for all stores of its thread nothing
// breaks. Where it waits only for those to its own address, which is the PSO of the papers on
// monitoring, a node can be popped before it is filled. A store-store fence before the update mends
// that.

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

static struct node *volatile top;

static void push(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    struct node *t;
    do {
        t = top;
        node->next = t;
        STORE_FENCE();
    } while (!__sync_bool_compare_and_swap(&top, t, node));
}

// The newest value, or 0 if the stack is empty.
static int pop(void) {
    for (;;) {
        struct node *t = top;
        if (t == NULL) {
            return 0;
        }
        struct node *next = t->next;
        if (__sync_bool_compare_and_swap(&top, t, next)) {
            return t->value;
        }
    }
}

static void *push_and_pop(void *arg) {
    push((int)(intptr_t)arg);
    int value = pop();
    // Whoever pops has pushed before.
    assert(value != 0);
    return (void *)(intptr_t)value;
}

int main(void) {
    pthread_t t[2];
    void *a, *b;
    pthread_create(&t[0], NULL, push_and_pop, (void *)7);
    pthread_create(&t[1], NULL, push_and_pop, (void *)8);
    pthread_join(t[0], &a);
    pthread_join(t[1], &b);
    assert(a != b);
    assert(top == NULL);
    return 0;
}
