// Two threads add to a counter under a spin lock of pthreads. With -DTRY the second one adds only if
// the lock is free.

#define _XOPEN_SOURCE 700
#include <assert.h>
#include <pthread.h>

static pthread_spinlock_t lock;
static int count;

static void *add(void *arg) {
    (void)arg;
    pthread_spin_lock(&lock);
    count++;
    pthread_spin_unlock(&lock);
    return NULL;
}

#ifdef TRY
static void *try_add(void *arg) {
    if (pthread_spin_trylock(&lock) != 0) {
        return &count;
    }
    count++;
    pthread_spin_unlock(&lock);
    return arg;
}
#else
#define try_add add
#endif

int main(void) {
    pthread_t t[2];
    void *busy;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&t[0], NULL, add, NULL);
    pthread_create(&t[1], NULL, try_add, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], &busy);
    assert(count == (busy == NULL ? 2 : 1));
    pthread_spin_destroy(&lock);
    return 0;
}
