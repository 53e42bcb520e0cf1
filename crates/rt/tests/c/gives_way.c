// Loops that give way to others. Those with an end come to it; those without are livelocks.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

static int rounds, flag, pipes[2];
static atomic_int done;

__attribute__((noinline)) static int another(void) { return ++rounds < 100; }
__attribute__((noinline)) static void wait_a_little(void) {
  sched_yield();
  thrd_yield();
}

static void *waits(void *arg) {
  (void)arg;
#if defined(ENDLESS)
  for (;;)
    sched_yield();
#elif defined(ENDLESS_CALLS)
  for (;;)
    wait_a_little();
#elif defined(ENDLESS_FLAG)
  // Nobody sets it.
  while (!*(volatile int *)&rounds)
    thrd_yield();
#elif defined(COUNTER)
  while (another())
    sched_yield();
#elif defined(LOCAL)
  for (volatile int i = 0; i < 100; i++)
    wait_a_little();
#elif defined(FLAG)
  // A data race, of course; but it ends.
  while (!flag) {
    sched_yield();
    atomic_signal_fence(memory_order_seq_cst);
  }
#elif defined(PIPE)
  char byte;
  while (read(pipes[0], &byte, 1) != 1)
    sched_yield();
#elif defined(CHANCE)
  while (rand() % 100 != 7)
    sched_yield();
#elif defined(ATOMIC)
  while (!atomic_load(&done))
    wait_a_little();
#endif
  atomic_store(&done, 1);
  return NULL;
}

static void *ends(void *arg) {
  (void)arg;
  flag = 1;
#ifdef PIPE
  char byte = 1;
  ssize_t n = write(pipes[1], &byte, 1);
  assert(n == 1);
#endif
#ifdef ATOMIC
  atomic_store(&done, 1);
#endif
  return NULL;
}

int main(void) {
#ifdef PIPE
  int made = pipe(pipes);
  assert(made == 0);
  fcntl(pipes[0], F_SETFL, O_NONBLOCK);
#endif
#ifdef ALONE
  waits(NULL);
#else
  pthread_t t, u;
  pthread_create(&t, NULL, waits, NULL);
  pthread_create(&u, NULL, ends, NULL);
  pthread_join(t, NULL);
  pthread_join(u, NULL);
#endif
  (void)another;
  (void)wait_a_little;
  assert(atomic_load(&done));
  return 0;
}
