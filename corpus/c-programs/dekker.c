// Dekker's algorithm for two threads. Under TSO the load of the other's flag overtakes the store of
// one's own: both enter, and one of the two additions is lost.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static volatile int flag[2];
static volatile int turn;
static volatile int count;

static void lock(int me) {
    flag[me] = 1;
    while (flag[1 - me]) {
        if (turn != me) {
            flag[me] = 0;
            while (turn != me)
                ;
            flag[me] = 1;
        }
    }
}

static void unlock(int me) {
    turn = 1 - me;
    flag[me] = 0;
}

static void *enter(void *arg) {
    int me = (int)(long)arg;
    lock(me);
    count = count + 1;
    unlock(me);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, enter, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(count == 2);
    return 0;
}
