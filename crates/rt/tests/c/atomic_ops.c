// Each atomic operation on each size, checked against what it means.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define CHECK(T)                                                                                   \
  {                                                                                                \
    static T x;                                                                                    \
    T old = (T)-3, e;                                                                              \
    __atomic_store_n(&x, old, __ATOMIC_RELEASE);                                                   \
    assert(__atomic_load_n(&x, __ATOMIC_ACQUIRE) == old);                                          \
    assert(__atomic_fetch_add(&x, 5, __ATOMIC_RELAXED) == old && x == (T)(old + 5));               \
    assert(__atomic_fetch_sub(&x, 9, __ATOMIC_SEQ_CST) == (T)(old + 5) && x == (T)(old - 4));      \
    x = 12;                                                                                        \
    assert(__atomic_fetch_and(&x, 10, __ATOMIC_SEQ_CST) == 12 && x == 8);                          \
    assert(__atomic_fetch_or(&x, 3, __ATOMIC_SEQ_CST) == 8 && x == 11);                            \
    assert(__atomic_fetch_xor(&x, 1, __ATOMIC_SEQ_CST) == 11 && x == 10);                          \
    assert(__atomic_fetch_nand(&x, 6, __ATOMIC_SEQ_CST) == 10 && x == (T)~2);                      \
    assert(__atomic_exchange_n(&x, 7, __ATOMIC_ACQ_REL) == (T)~2 && x == 7);                       \
    e = 6;                                                                                         \
    assert(!__atomic_compare_exchange_n(&x, &e, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));        \
    assert(e == 7 && x == 7);                                                                      \
    assert(__atomic_compare_exchange_n(&x, &e, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));         \
    assert(x == 9);                                                                                \
  }

struct pair {
  long a, b, c;
};
static struct pair one = {1, 2, 3}, two;
static char bytes[64];

static void *work(void *arg) {
  (void)arg;
  CHECK(uint8_t)
  CHECK(uint16_t)
  CHECK(uint32_t)
  CHECK(uint64_t)
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  two = one;
  assert(two.a == 1 && two.b == 2 && two.c == 3);
  memset(bytes, 'x', sizeof bytes);
  memmove(bytes + 1, "abc", 3);
  memcpy(bytes + 8, bytes, 4);
  assert(!strncmp(bytes + 8, "xabc", 4));
  return 0;
}

int main(void) {
  pthread_t t;
  work(0);
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  return 0;
}
