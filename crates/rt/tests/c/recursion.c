// Calls itself without end.
#include <pthread.h>
volatile int depth;

static int down(volatile char *above) {
  volatile char here[256];
  here[0] = *above;
  depth++;
  return down(here) + here[0];
}

static void *run(void *arg) {
  volatile char c = 0;
  (void)arg;
  down(&c);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, run, 0);
  pthread_join(t, 0);
  return 0;
}
