// Threads as C11 has them.
#include <assert.h>
#include <stdatomic.h>
#include <threads.h>
static mtx_t lock;
static cnd_t told;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;
static atomic_int ready;
static int value, made;

static void make(void) { made++; }

static int work(void *arg) {
  call_once(&flag, make);
  tss_set(key, arg);
  mtx_lock(&lock);
  value++;
  cnd_signal(&told);
  mtx_unlock(&lock);
  atomic_fetch_add(&ready, 1);
  thrd_yield();
  return tss_get(key) == arg ? 5 : 6;
}

int main(void) {
  thrd_t t[2];
  int result;
  mtx_init(&lock, mtx_plain);
  cnd_init(&told);
  tss_create(&key, 0);
  for (int i = 0; i < 2; i++)
    assert(thrd_create(&t[i], work, &t[i]) == thrd_success);
  mtx_lock(&lock);
  while (value < 2)
    cnd_wait(&told, &lock);
  mtx_unlock(&lock);
  for (int i = 0; i < 2; i++) {
    assert(thrd_join(t[i], &result) == thrd_success);
    assert(result == 5);
  }
  assert(atomic_load(&ready) == 2 && made == 1);
  return 0;
}
