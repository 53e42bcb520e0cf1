// What must not be done with locks: -DCASE=... is one of the functions below.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

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
static void spin_ended(void) {
    pthread_spin_init(&spin, 0);
    pthread_spin_destroy(&spin);
    pthread_spin_lock(&spin);
}

// Initialised while others use it, which is seen in one order or the other.
static sem_t semaphore;
static void *locks_spin(void *arg) { pthread_spin_lock(&spin); pthread_spin_unlock(&spin); return arg; }
static void *locks_rw(void *arg) { pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw); return arg; }
static void *signals(void *arg) { pthread_cond_signal(&condition); return arg; }
static void *posts(void *arg) { sem_post(&semaphore); return arg; }
static void *posts_and_reads(void *lock) {
    sem_post(&semaphore);
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
    return 0;
}
static void *sleeps(void *arg) {
    struct timespec until = {0};
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return arg;
}
static void init(void) { pthread_mutex_init(&mutex, 0); }
static void init_c11(void) { mtx_init((mtx_t *)&mutex, mtx_plain); }
static void init_spin(void) { pthread_spin_init(&spin, 0); }
static void init_rw(void) { pthread_rwlock_init(&rw, 0); }
static void init_condition(void) { pthread_cond_init(&condition, 0); }
static void init_condition_c11(void) { cnd_init((cnd_t *)&condition); }
static void init_semaphore(void) { sem_init(&semaphore, 0, 1); }
static void init_barrier(void) { pthread_barrier_init(&barrier, 0, 1); }
static void *waits_there(void *arg) { pthread_barrier_wait(&barrier); return arg; }
static void late(void) { with(locks, 0, init); }
static void late_c11(void) { with(locks, 0, init_c11); }
static void late_spin(void) { with(locks_spin, 0, init_spin); }
static void late_rw(void) { with(locks_rw, 0, init_rw); }
static void late_condition(void) { with(signals, 0, init_condition); }
static void late_condition_c11(void) { with(signals, 0, init_condition_c11); }
static void late_semaphore(void) { with(posts, 0, init_semaphore); }
static void late_barrier(void) { with(waits_there, 0, init_barrier); }
static void twice_at_once(void) {
    pthread_t t;
    pthread_create(&t, 0, (void *(*)(void *))(void *)init, 0);
    init();
    pthread_join(t, 0);
}
static void init_held(void) { pthread_mutex_lock(&mutex); init(); }
static void init_freed(void) {
    pthread_mutex_t *m = malloc(sizeof *m);
    free(m);
    pthread_mutex_init(m, 0);
}
static void init_outside(void) { pthread_cond_init(malloc(sizeof(int)), 0); }
static void init_waited_on(void) { with(sleeps, 0, init_condition); }

// By its own thread, on its own stack, while another one waits to read.
static void init_for_readers(void) {
    pthread_rwlock_t own;
    pthread_rwlock_init(&own, 0);
    pthread_rwlock_wrlock(&own);
    pthread_t t;
    pthread_create(&t, 0, posts_and_reads, &own);
    sem_wait(&semaphore);
    pthread_rwlock_init(&own, 0);
    pthread_rwlock_unlock(&own);
    pthread_join(t, 0);
}

// What another one waits for, which is in no order with it.
static void *takes(void *arg) { sem_wait(&semaphore); return arg; }
static void init_semaphore_waited_for(void) { with(takes, 0, init_semaphore); }
static void *spins(void *lock) { pthread_spin_lock(lock); pthread_spin_unlock(lock); return 0; }
static void init_spin_waited_for(void) {
    pthread_spinlock_t own;
    pthread_spin_init(&own, 0);
    pthread_spin_lock(&own);
    pthread_t t;
    pthread_create(&t, 0, spins, (void *)&own);
    pthread_spin_init(&own, 0);
    pthread_join(t, 0);
}

// Unlocked by a thread that had what was there before for reading: on its stack, and in memory that it gets again.
static pthread_rwlock_t *published;
static sem_t answer;
static void unlocks_another(pthread_rwlock_t *lock) {
    published = lock;
    sem_post(&semaphore);
    sem_wait(&answer);
    pthread_rwlock_unlock(lock);
}
__attribute__((noinline)) static void with_variable(int again) {
    pthread_rwlock_t lock;
    if (again == 2) lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    else pthread_rwlock_init(&lock, 0);
    if (again) unlocks_another(&lock);
    else pthread_rwlock_rdlock(&lock);
    __asm__ volatile("" ::"r"(&lock) : "memory");
}
static void *with_variables(void *arg) { with_variable(0); with_variable(arg ? 2 : 1); return 0; }
static void *with_blocks(void *arg) {
    pthread_rwlock_t *lock = malloc(sizeof *lock);
    pthread_rwlock_init(lock, 0);
    pthread_rwlock_rdlock(lock);
    free(lock);
    lock = malloc(sizeof *lock);
    pthread_rwlock_init(lock, 0);
    unlocks_another(lock);
    return arg;
}
static void reads_another(void) { sem_wait(&semaphore); sem_post(&answer); pthread_rwlock_rdlock(published); }
static void rw_after_return(void) { with(with_variables, 0, reads_another); }
static void rw_after_return_zeros(void) { with(with_variables, &rw, reads_another); }
static void rw_after_free(void) { with(with_blocks, 0, reads_another); }

static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static void *waits_with_other(void *arg) {
    pthread_mutex_lock(&other);
    pthread_cond_wait(&condition, &other);
    pthread_mutex_unlock(&other);
    return arg;
}
static void two_mutexes(void) { with(waits, 0, (void (*)(void))(void *)waits_with_other); }
static void spin_not_locked(void) { pthread_spin_init(&spin, 0); pthread_spin_unlock(&spin); }

int main(void) {
    CASE();
    return 0;
}
