// Two threads store to one variable each, two others read both in opposite order. The readers never
// disagree about which store came first, under SC, TSO and PSO: a store becomes visible to all other
// threads at once.

#include <assert.h>
#include <pthread.h>

static volatile int x, y;
static int a, b, c, d;

static void *store_x(void *arg) {
    (void)arg;
    x = 1;
    return NULL;
}

static void *store_y(void *arg) {
    (void)arg;
    y = 1;
    return NULL;
}

static void *x_first(void *arg) {
    (void)arg;
    a = x;
    b = y;
    return NULL;
}

static void *y_first(void *arg) {
    (void)arg;
    c = y;
    d = x;
    return NULL;
}

int main(void) {
    void *(*const run[4])(void *) = {store_x, store_y, x_first, y_first};
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&t[i], NULL, run[i], NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
    assert(!(a == 1 && b == 0 && c == 1 && d == 0));
    return 0;
}
