// One order of two threads dereferences a null pointer.
#include <pthread.h>
static int data = 7;
int *volatile pointer = &data;
volatile int seen;

static void *use(void *arg) {
  (void)arg;
  if (pointer)
    seen = *pointer;
  return 0;
}

static void *clear(void *arg) {
  (void)arg;
  pointer = 0;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, use, 0);
  pthread_create(&b, 0, clear, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
