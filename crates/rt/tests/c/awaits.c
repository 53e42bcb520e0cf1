// Two threads wait for the last of several values. Whatever else they read leads to nothing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef LAST
#define LAST 5
#endif
#ifndef TRIES
#define TRIES -1
#endif

static atomic_int x, given_up;

static void *wait_for(void *arg)
{
    (void)arg;
    for (int tries = 0; atomic_load(&x) != LAST; tries++)
        if (tries == TRIES - 1) {
            given_up = 1;
            break;
        } else if (TRIES < 0)
            tries--;
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, wait_for, 0);
    for (int i = 1; i <= 5; i++)
        x = i;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(!given_up);
    return 0;
}
