// Mutexes of all kinds.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked;
static int value, tried;

static void *work(void *arg) {
  (void)arg;
  assert(pthread_mutex_lock(&again) == 0);
  assert(pthread_mutex_lock(&again) == 0);
  value++;
  assert(pthread_mutex_unlock(&again) == 0);
  assert(pthread_mutex_unlock(&again) == 0);
  assert(pthread_mutex_unlock(&again) == EPERM);
  if (pthread_mutex_trylock(&plain) == 0) {
    tried++;
    pthread_mutex_unlock(&plain);
  }
  return 0;
}

int main(void) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checked, &kind);
  assert(pthread_mutex_lock(&checked) == 0);
  assert(pthread_mutex_lock(&checked) == EDEADLK);
  assert(pthread_mutex_unlock(&checked) == 0);
  assert(pthread_mutex_unlock(&checked) == EPERM);
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(value == 2);
  assert(tried == 1 || tried == 2);
  // Nobody will free it, so the time is up.
  struct timespec until = {0, 0};
  pthread_mutex_lock(&plain);
  assert(pthread_mutex_timedlock(&plain, &until) == ETIMEDOUT);
  return 0;
}
