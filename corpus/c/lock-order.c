// Two threads take two mutexes, in opposite order: each can have one and wait for the other for ever.
// With -DORDERED both take them in the same order.

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    count++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *a_first(void *arg) {
    (void)arg;
    both(&a, &b);
    return NULL;
}

static void *b_first(void *arg) {
    (void)arg;
#ifdef ORDERED
    both(&a, &b);
#else
    both(&b, &a);
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, a_first, NULL);
    pthread_create(&t[1], NULL, b_first, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(count == 2);
    return 0;
}
