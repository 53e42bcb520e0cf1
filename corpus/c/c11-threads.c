// The threads of C11: a thread waits on a condition variable for what another one sends, both call a
// function once, and each has storage of its own.

#include <assert.h>
#include <stddef.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static mtx_t mutex;
static cnd_t changed;
static tss_t own;
static int made, ready, data;

static void make(void) {
    made++;
}

static int send(void *arg) {
    call_once(&once, make);
    tss_set(own, arg);
    mtx_lock(&mutex);
    data = 42;
    ready = 1;
    cnd_signal(&changed);
    mtx_unlock(&mutex);
    return tss_get(own) == arg;
}

static int receive(void *arg) {
    call_once(&once, make);
    assert(tss_get(own) == NULL);
    tss_set(own, arg);
    mtx_lock(&mutex);
    while (!ready) {
        cnd_wait(&changed, &mutex);
    }
    assert(data == 42);
    mtx_unlock(&mutex);
    return tss_get(own) == arg;
}

int main(void) {
    thrd_t t[2];
    int a, b;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&changed);
    tss_create(&own, NULL);
    thrd_create(&t[0], receive, &t[0]);
    thrd_create(&t[1], send, &t[1]);
    thrd_join(t[0], &a);
    thrd_join(t[1], &b);
    assert(a == 1 && b == 1 && made == 1);
    mtx_destroy(&mutex);
    cnd_destroy(&changed);
    tss_delete(own);
    return 0;
}
