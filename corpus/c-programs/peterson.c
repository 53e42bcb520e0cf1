// Peterson's algorithm with atomics of C11, all of them sequentially consistent: each store is
// followed by a fence.

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
    flag[me] = true;
    turn = other;
    while (flag[other] && turn == other)
        ;
    count++;
    flag[me] = false;
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
