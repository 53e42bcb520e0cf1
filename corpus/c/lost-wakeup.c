// Message passing by a condition variable, with a lost wake-up: the flag is looked at before the mutex
// is taken, and set without it. If the signal comes in between nobody hears it, and the receiver
// waits for ever. -DFIXED sets it and looks again under the mutex.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int ready;

static void *send(void *arg) {
    (void)arg;
#ifdef FIXED
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_mutex_unlock(&mutex);
#else
    ready = 1;
#endif
    pthread_cond_signal(&changed);
    return NULL;
}

static void *receive(void *arg) {
    (void)arg;
    if (!ready) {
        pthread_mutex_lock(&mutex);
#ifdef FIXED
        while (!ready) {
            pthread_cond_wait(&changed, &mutex);
        }
#else
        pthread_cond_wait(&changed, &mutex);
#endif
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, receive, NULL);
    pthread_create(&t[1], NULL, send, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
