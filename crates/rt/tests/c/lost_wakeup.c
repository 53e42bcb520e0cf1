// The flag is looked at without the lock, so the signal may come before the wait.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
volatile int flag;

static void *wait_for(void *arg) {
  (void)arg;
  if (!flag) {
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&told, &lock);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

static void *tell(void *arg) {
  (void)arg;
  flag = 1;
  pthread_cond_signal(&told);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, wait_for, 0);
  pthread_create(&b, 0, tell, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
