// Two consumers and a producer of two items with a condition variable. Who wakes up does not look
// again: the other consumer may have taken the item before the woken one has the mutex back.
// -DFIXED looks again.

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items;

static void *produce(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&mutex);
        items++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *consume(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
#ifdef FIXED
    while (items == 0) {
        pthread_cond_wait(&changed, &mutex);
    }
#else
    if (items == 0) {
        pthread_cond_wait(&changed, &mutex);
    }
#endif
    assert(items > 0);
    items--;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, consume, NULL);
    pthread_create(&t[1], NULL, consume, NULL);
    pthread_create(&t[2], NULL, produce, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    assert(items == 0);
    return 0;
}
