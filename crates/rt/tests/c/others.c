// Read-write locks, semaphores, barriers, spin locks, once and keys.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t sem;
static int a, b, made, destroyed, serial, counter;

static void make(void) { made++; }
static void destroy(void *value) {
  __atomic_add_fetch(&destroyed, *(int *)value, __ATOMIC_SEQ_CST);
}

static void *work(void *arg) {
  int me = (int)(long)arg;
  static int values[2] = {1, 10};
  pthread_once(&once, make);
  assert(made == 1);
  pthread_setspecific(key, &values[me]);
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
    __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
  if (me) {
    pthread_rwlock_wrlock(&rw);
    a++;
    b++;
    pthread_rwlock_unlock(&rw);
    sem_post(&sem);
  } else {
    pthread_rwlock_rdlock(&rw);
    assert(a == b);
    pthread_rwlock_unlock(&rw);
    sem_wait(&sem);
    assert(a == 1);
  }
  pthread_spin_lock(&spin);
  counter++;
  pthread_spin_unlock(&spin);
  assert(pthread_getspecific(key) == &values[me]);
  return 0;
}

int main(void) {
  pthread_t t[2];
  pthread_key_create(&key, destroy);
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, 0, 2);
  sem_init(&sem, 0, 0);
  for (long i = 0; i < 2; i++)
    pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], 0);
  assert(destroyed == 11 && serial == 1 && counter == 2);
  assert(sem_trywait(&sem) == -1 && errno == EAGAIN);
  struct timespec until = {0, 0};
  assert(sem_timedwait(&sem, &until) == -1 && errno == ETIMEDOUT);
  assert(pthread_rwlock_rdlock(&rw) == 0 && pthread_rwlock_tryrdlock(&rw) == 0);
  assert(pthread_rwlock_trywrlock(&rw) == EBUSY);
  pthread_rwlock_unlock(&rw);
  pthread_rwlock_unlock(&rw);
  assert(pthread_rwlock_trywrlock(&rw) == 0 && pthread_rwlock_tryrdlock(&rw) == EBUSY);
  assert(pthread_rwlock_rdlock(&rw) == EDEADLK && pthread_rwlock_wrlock(&rw) == EDEADLK);
  return 0;
}
