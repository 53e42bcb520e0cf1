// Sixty-four threads that add under a lock.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static __thread int own;

static void *add(void *arg) {
  own += (int)(long)arg;
  pthread_mutex_lock(&lock);
  sum += own;
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t t[64];
  for (long i = 0; i < 64; i++)
    pthread_create(&t[i], 0, add, (void *)i);
  for (int i = 0; i < 64; i++)
    pthread_join(t[i], 0);
  assert(sum == 64 * 63 / 2);
  return 0;
}
