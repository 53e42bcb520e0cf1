// What may be done with locks although it looks like misuse: -DCASE=... is one of the functions below.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex;
static pthread_cond_t condition;
static pthread_barrier_t barrier;
static int ready, users = 2;

static pthread_t start(void *(*f)(void *), void *arg) {
    pthread_t t;
    pthread_create(&t, 0, f, arg);
    return t;
}

// Zeros are a mutex, wherever they come from.
static void zeros(void) {
    pthread_mutex_t *m = calloc(1, sizeof *m);
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    pthread_mutex_unlock(&mutex);
    free(m);
}

// One that was destroyed can be made again, in all ways.
static void again(void) {
    pthread_mutex_destroy(&mutex);
    pthread_mutex_init(&mutex, 0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&condition);
    memset(&condition, 0, sizeof condition);
    pthread_cond_signal(&condition);
    pthread_cond_destroy(&condition);
    pthread_cond_init(&condition, 0);
    pthread_cond_signal(&condition);
    pthread_barrier_init(&barrier, 0, 1);
    pthread_barrier_destroy(&barrier);
    pthread_barrier_init(&barrier, 0, 1);
    pthread_barrier_wait(&barrier);
}

// Mutexes that check their owners say so.
static void *unlocks(void *arg) {
    assert(pthread_mutex_unlock(arg) == EPERM);
    return arg;
}
static void checked(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &kind);
    assert(pthread_mutex_unlock(&mutex) == EPERM);
    pthread_mutex_lock(&mutex);
    pthread_join(start(unlocks, &mutex), 0);
    pthread_mutex_unlock(&mutex);
}

// A semaphore belongs to nobody.
static sem_t semaphore;
static void *posts(void *arg) { sem_post(&semaphore); return arg; }
static void hand_over(void) {
    sem_init(&semaphore, 0, 0);
    pthread_t t = start(posts, 0);
    sem_wait(&semaphore);
    pthread_join(t, 0);
    sem_destroy(&semaphore);
}

// Who waits on a condition variable holds the mutex in between, or not, as it should.
static void *waits(void *arg) {
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}
// After a broadcast nobody is left behind, so that it may be destroyed at once.
static void woken(void) {
    pthread_t t = start(waits, 0);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&condition);
    pthread_join(t, 0);
    pthread_mutex_destroy(&mutex);
}

// The last user destroys and frees the lock itself.
struct counted { pthread_mutex_t mutex; int users; };
static void *leaves(void *arg) {
    struct counted *c = arg;
    pthread_mutex_lock(&c->mutex);
    int left = --c->users;
    pthread_mutex_unlock(&c->mutex);
    if (left == 0) {
        pthread_mutex_destroy(&c->mutex);
        free(c);
    }
    return 0;
}
static void last_user(void) {
    struct counted *c = malloc(sizeof *c);
    pthread_mutex_init(&c->mutex, 0);
    c->users = 2;
    pthread_t t = start(leaves, c);
    leaves(c);
    pthread_join(t, 0);
}

// One of those that were let go destroys the barrier.
static void *meets(void *arg) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) pthread_barrier_destroy(&barrier);
    return arg;
}
static void met(void) {
    pthread_barrier_init(&barrier, 0, 2);
    pthread_t t = start(meets, 0);
    meets(0);
    pthread_join(t, 0);
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void *reads(void *arg) {
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_unlock(&rw);
    return arg;
}
static void readers(void) {
    pthread_t t = start(reads, 0);
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_join(t, 0);
    pthread_rwlock_destroy(&rw);
}

int main(void) {
    CASE();
    return 0;
}
