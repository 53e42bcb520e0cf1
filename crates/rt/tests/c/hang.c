// An endless loop that touches nothing, in one of two orders.
#include <pthread.h>
volatile int x;

static void *set(void *arg) {
  (void)arg;
  x = 1;
  return 0;
}

static void *get(void *arg) {
  (void)arg;
  if (x) {
    for (;;)
      __asm__ volatile("nop");
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  pthread_create(&b, 0, get, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
