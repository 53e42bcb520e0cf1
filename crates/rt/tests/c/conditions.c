// A queue of one place, with a condition variable for each direction; then a wait that times out.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int place, sum;

static void *put(void *arg) {
  (void)arg;
  for (int i = 1; i <= 2; i++) {
    pthread_mutex_lock(&lock);
    while (place)
      pthread_cond_wait(&emptied, &lock);
    place = i;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

static void *get(void *arg) {
  (void)arg;
  for (int i = 1; i <= 2; i++) {
    pthread_mutex_lock(&lock);
    while (!place)
      pthread_cond_wait(&filled, &lock);
    sum += place;
    place = 0;
    pthread_cond_broadcast(&emptied);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, put, 0);
  pthread_create(&b, 0, get, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(sum == 3);
  struct timespec until = {0, 0};
  pthread_mutex_lock(&lock);
  assert(pthread_cond_timedwait(&filled, &lock, &until) == ETIMEDOUT);
  pthread_mutex_unlock(&lock);
  return 0;
}
