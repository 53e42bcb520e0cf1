// A compare-and-swap that fails learns what is there, in memory of its own, and then succeeds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *next;
};

static _Atomic(struct node *) top;

static void push(void)
{
    struct node *node = malloc(sizeof *node);
    node->next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &node->next, node))
        ;
}

static void *pushes(void *arg)
{
    (void)arg;
    push();
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, pushes, 0);
    push();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    int n = 0;
    for (struct node *node = top; node; node = node->next)
        n++;
    assert(n == 3);
    return 0;
}
