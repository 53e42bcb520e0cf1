// One writer and two readers of two variables that are always equal, under a lock for readers and
// writers. With -DBROKEN the writer takes it as a reader.

#define _XOPEN_SOURCE 700
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int a, b;

static void *write_both(void *arg) {
    (void)arg;
#ifdef BROKEN
    pthread_rwlock_rdlock(&lock);
#else
    pthread_rwlock_wrlock(&lock);
#endif
    a = 1;
    b = 1;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *read_both(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    int x = a;
    int y = b;
    pthread_rwlock_unlock(&lock);
    assert(x == y);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, write_both, NULL);
    pthread_create(&t[1], NULL, read_both, NULL);
    pthread_create(&t[2], NULL, read_both, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    assert(a == 1 && b == 1);
    return 0;
}
