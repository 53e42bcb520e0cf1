// Message passing by a condition variable, as it should be: the flag is set and looked at under the
// mutex, and who wakes up looks again.

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, data;

static void *send(void *arg) {
    (void)arg;
    data = 42;
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *receive(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
    while (!ready) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    assert(data == 42);
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
