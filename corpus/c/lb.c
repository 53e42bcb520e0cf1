// Load buffering: each thread loads one variable and stores to the other. Not both loads see the
// stores that come after them, under SC, TSO and PSO: none of these lets a store overtake a load.

#include <assert.h>
#include <pthread.h>

static volatile int x, y;
static int r, s;

static void *left(void *arg) {
    (void)arg;
    r = x;
    y = 1;
    return NULL;
}

static void *right(void *arg) {
    (void)arg;
    s = y;
    x = 1;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, left, NULL);
    pthread_create(&t[1], NULL, right, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(r == 0 || s == 0);
    return 0;
}
