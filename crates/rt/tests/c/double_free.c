// Both of two threads may free the same block.
#include <pthread.h>
#include <stdlib.h>
static void *volatile block;

static void *release(void *arg) {
  (void)arg;
  void *mine = block;
  block = 0;
  free(mine);
  return 0;
}

int main(void) {
  pthread_t a, b;
  block = malloc(8);
  pthread_create(&a, 0, release, 0);
  pthread_create(&b, 0, release, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
