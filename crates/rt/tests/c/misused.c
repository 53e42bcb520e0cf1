// What must not be done with locks: -DCASE=... is one of the functions below.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;

static void with(void *(*f)(void *), void *arg, void (*here)(void)) {
    pthread_t t;
    pthread_create(&t, 0, f, arg);
    if (here) here();
    pthread_join(t, 0);
}

static void *unlocks(void *arg) { pthread_mutex_unlock(&mutex); return arg; }
static void *locks(void *arg) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); return arg; }
static void *waits(void *arg) {
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void not_locked(void) { pthread_mutex_unlock(&mutex); }
static void of_another(void) { pthread_mutex_lock(&mutex); with(unlocks, 0, 0); }
static void twice(void) { pthread_mutex_destroy(&mutex); pthread_mutex_destroy(&mutex); }
static void held(void) { pthread_mutex_lock(&mutex); pthread_mutex_destroy(&mutex); }
static void destroy(void) { pthread_mutex_destroy(&mutex); }
// Only if the other thread comes second.
static void after_end(void) { with(locks, 0, destroy); }
static void garbage(void) {
    pthread_mutex_t m;
    memset(&m, 0xa5, sizeof m);
    ((int *)&m)[0] = 0;
    pthread_mutex_lock(&m);
}
static void c11(void) { mtx_t m; mtx_init(&m, mtx_plain); mtx_destroy(&m); mtx_lock(&m); }
static void freed(void) {
    pthread_mutex_t *m = malloc(sizeof *m);
    pthread_mutex_init(m, 0);
    free(m);
    pthread_mutex_lock(m);
}
static void wait_unlocked(void) { pthread_cond_wait(&condition, &mutex); }
static void destroy_condition(void) { pthread_cond_destroy(&condition); pthread_cond_signal(&condition); }
static void waited_on(void) {
    pthread_t t;
    pthread_create(&t, 0, waits, 0);
    pthread_cond_destroy(&condition);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void rw_not_locked(void) { pthread_rwlock_unlock(&rw); }
static void *unlocks_rw(void *arg) { pthread_rwlock_unlock(&rw); return arg; }
static void rw_of_another(void) { pthread_rwlock_wrlock(&rw); with(unlocks_rw, 0, 0); }
static void rw_held(void) { pthread_rwlock_rdlock(&rw); pthread_rwlock_destroy(&rw); }
static void rw_after_end(void) { pthread_rwlock_destroy(&rw); pthread_rwlock_rdlock(&rw); }
static void no_barrier(void) { pthread_barrier_wait(&barrier); }
static void ended_barrier(void) {
    pthread_barrier_init(&barrier, 0, 1);
    pthread_barrier_destroy(&barrier);
    pthread_barrier_wait(&barrier);
}
static void *waits_at(void *arg) { pthread_barrier_wait(&barrier); return arg; }
static void waited_at(void) {
    pthread_t t;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, waits_at, 0);
    pthread_barrier_destroy(&barrier);
}
static void spin_not_locked(void) { pthread_spin_init(&spin, 0); pthread_spin_unlock(&spin); }

int main(void) {
    CASE();
    return 0;
}
