// A lock made of a word and the system's futex.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static int value;

static long futex(int op, int v) { return syscall(SYS_futex, &word, op, v, 0, 0, 0); }

static void lock(void) {
  int seen = 0;
  if (atomic_compare_exchange_strong(&word, &seen, 1))
    return;
  if (seen != 2)
    seen = atomic_exchange(&word, 2);
  while (seen != 0) {
    futex(FUTEX_WAIT_PRIVATE, 2);
    seen = atomic_exchange(&word, 2);
  }
}

static void unlock(void) {
  if (atomic_exchange(&word, 0) == 2)
    futex(FUTEX_WAKE_PRIVATE, 1);
}

static void *work(void *arg) {
  (void)arg;
  lock();
  value++;
  unlock();
  return 0;
}

int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], 0);
  assert(value == 2);
  assert(futex(FUTEX_WAIT_PRIVATE, 7) == -1 && errno == EAGAIN);
  return 0;
}
