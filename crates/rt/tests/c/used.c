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

// Who gets a lock from another by a lock comes after it was initialised.
static struct counted *made;
static void *makes(void *arg) {
    struct counted *c = malloc(sizeof *c);
    pthread_mutex_init(&c->mutex, 0);
    c->users = 2;
    pthread_mutex_lock(&mutex);
    made = c;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    leaves(c);
    return arg;
}
static void handed(void) {
    pthread_t t = start(makes, 0);
    pthread_mutex_lock(&mutex);
    while (!made) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    leaves(made);
    pthread_join(t, 0);
}

// Threads with locks of their own, in memory that they get again.
static void *has_own(void *arg) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_t here, *there = malloc(sizeof *there);
        sem_t s;
        pthread_mutex_init(&here, 0);
        pthread_mutex_init(there, 0);
        sem_init(&s, 0, 1);
        pthread_mutex_lock(&here);
        pthread_mutex_lock(there);
        sem_wait(&s);
        pthread_mutex_unlock(there);
        pthread_mutex_unlock(&here);
        pthread_mutex_destroy(&here);
        pthread_mutex_destroy(there);
        sem_destroy(&s);
        free(there);
    }
    return arg;
}
static void own(void) {
    pthread_t t = start(has_own, 0);
    has_own(0);
    pthread_join(t, 0);
}

// A function returns while its variable is locked, and is called again.
__attribute__((noinline)) static void locks_and_returns(void) {
    pthread_mutex_t m;
    pthread_mutex_init(&m, 0);
    pthread_mutex_lock(&m);
    __asm__ volatile("" ::"r"(&m));
}
static void left_behind(void) {
    pthread_t t = start(reads, 0);
    locks_and_returns();
    locks_and_returns();
    pthread_join(t, 0);
}

// Waits with one mutex are over before others begin with another.
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static void *waits_with_second(void *arg) {
    pthread_mutex_lock(&second);
    while (ready < 2) pthread_cond_wait(&condition, &second);
    pthread_mutex_unlock(&second);
    return arg;
}
static void one_after_other(void) {
    pthread_t t = start(waits, 0);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(t, 0);
    t = start(waits_with_second, 0);
    pthread_mutex_lock(&second);
    ready = 2;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&second);
    pthread_join(t, 0);
}

static pthread_spinlock_t spin;
static void *spins(void *arg) { pthread_spin_lock(&spin); pthread_spin_unlock(&spin); return arg; }
static void spin_again(void) {
    pthread_spin_init(&spin, 0);
    pthread_join(start(spins, 0), 0);
    pthread_spin_destroy(&spin);
    pthread_spin_init(&spin, 0);
    pthread_join(start(spins, 0), 0);
}

int main(void) {
    CASE();
    return 0;
}
