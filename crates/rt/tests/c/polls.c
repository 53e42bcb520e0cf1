// A thread asks under a lock, again and again, whether another one is done.
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  done = 1;
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t t;
  int seen;
  pthread_create(&t, 0, work, 0);
  do {
    pthread_mutex_lock(&lock);
    seen = done;
    pthread_mutex_unlock(&lock);
    sched_yield();
  } while (!seen);
  pthread_join(t, 0);
  return 0;
}
