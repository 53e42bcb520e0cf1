// A loop comes back to a value that it has seen before, after others, and so does not only wait.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *volatile next;
};

static struct node *volatile top;

static void *push_and_pop(void *arg)
{
    struct node *node = malloc(sizeof *node), *seen;
    (void)arg;
    node->value = 1;
    do {
        seen = top;
        node->next = seen;
    } while (!__sync_bool_compare_and_swap(&top, seen, node));
    do {
        seen = top;
        assert(seen);
    } while (!__sync_bool_compare_and_swap(&top, seen, seen->next));
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, push_and_pop, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(!top);
    return 0;
}
