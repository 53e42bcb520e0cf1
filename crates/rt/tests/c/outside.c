// Time, chance, output and the heap are the same in each execution.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
static int n;

static void *work(void *arg) {
  struct timespec t;
  unsigned random;
  clock_gettime(CLOCK_MONOTONIC, &t);
  getrandom(&random, sizeof random, 0);
  sleep(100);
  char *p = malloc(100), *q = strdup("text");
  assert(p && !strcmp(q, "text"));
  p = realloc(p, 1000);
  int *z = calloc(10, sizeof *z);
  assert(z[9] == 0);
  free(p);
  free(q);
  __atomic_add_fetch(&n, 1, __ATOMIC_SEQ_CST);
  printf("%s: heap %d, time %ld, random %u, libc %d\n", (char *)arg, (int)((long)q & 0xffff),
         (long)t.tv_sec, random % 1000, rand() % 1000);
  return 0;
}

int main(void) {
  pthread_t a, b;
  void *aligned;
  assert(posix_memalign(&aligned, 4096, 10) == 0 && (long)aligned % 4096 == 0);
  pthread_create(&a, 0, work, "a");
  pthread_create(&b, 0, work, "b");
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(n == 2);
  return 0;
}
