// What main loads behind the last join is what was stored last, which nobody else loads. Then it stores
// itself, and another thread loads that.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *one(void *arg) {
  (void)arg;
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  return NULL;
}

static void *two(void *arg) {
  (void)arg;
  atomic_store_explicit(&x, 2, memory_order_relaxed);
  return NULL;
}

static void *look(void *arg) {
  (void)arg;
  assert(atomic_load_explicit(&y, memory_order_relaxed) == 7);
  return NULL;
}

int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, NULL, one, NULL);
  pthread_create(&b, NULL, two, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  atomic_store_explicit(&y, 7, memory_order_relaxed);
  pthread_create(&c, NULL, look, NULL);
  pthread_join(c, NULL);
  assert(atomic_load_explicit(&x, memory_order_relaxed) == 2);
  return 0;
}
