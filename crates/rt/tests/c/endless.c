// main waits in a loop for what nobody will do: before there is another thread, or behind the last one.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *set(void *arg) {
  (void)arg;
  atomic_store(&y, 1);
  return NULL;
}

int main(void) {
#ifdef BEHIND
  pthread_t t;
  pthread_create(&t, NULL, set, NULL);
  pthread_join(t, NULL);
#else
  (void)set;
#endif
  while (atomic_load(&x) == 0) {
  }
  return 0;
}
