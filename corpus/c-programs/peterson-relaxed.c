// Peterson's algorithm with release and acquire only, which is not enough: the load of the other's
// flag overtakes the stores before it.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool flag[2];
static atomic_int turn;
static int count;

static void *enter(void *arg) {
    int me = *(int *)arg;
    int other = 1 - me;
    atomic_store_explicit(&flag[me], true, memory_order_release);
    atomic_store_explicit(&turn, other, memory_order_release);
    while (atomic_load_explicit(&flag[other], memory_order_acquire) &&
           atomic_load_explicit(&turn, memory_order_acquire) == other)
        ;
    count++;
    atomic_store_explicit(&flag[me], false, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    static int number[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, enter, &number[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(count == 2);
    return 0;
}
