// A thread waits in a loop for a flag that nobody sets if the other one looks too early.
#include <pthread.h>
volatile int x, flag;

static void *wait_for(void *arg) {
  (void)arg;
  x = 1;
  while (!flag) {
  }
  return 0;
}

static void *tell(void *arg) {
  (void)arg;
  if (x)
    flag = 1;
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
