// Two threads add one to a counter that nothing protects: under SC already one of the additions can be
// lost. -DATOMIC adds atomically, -DMUTEX under a mutex.

#include <assert.h>
#include <pthread.h>

#ifdef MUTEX
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif
static volatile int count;

static void *add(void *arg) {
    (void)arg;
#if defined ATOMIC
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
#elif defined MUTEX
    pthread_mutex_lock(&mutex);
    count = count + 1;
    pthread_mutex_unlock(&mutex);
#else
    count = count + 1;
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, add, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    assert(count == 2);
    return 0;
}
