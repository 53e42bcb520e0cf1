// Dekker's mutual exclusion for two threads, one entry each. Right under SC.
#include <assert.h>
#include <pthread.h>

volatile int flag[2], turn, inside;

static void *enter(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
  flag[me] = 1;
  while (flag[other]) {
    if (turn != me) {
      flag[me] = 0;
      while (turn != me) {
      }
      flag[me] = 1;
    }
  }
  inside++;
  assert(inside == 1);
  inside--;
  turn = other;
  flag[me] = 0;
  return 0;
}

int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&t[i], 0, enter, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], 0);
  return 0;
}
