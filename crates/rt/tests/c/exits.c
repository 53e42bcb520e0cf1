// A thread ends the program; what was registered for that runs, in its order, and sees all memory.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int counter;

static void first(void) { printf("first, counter %d\n", counter); }
static void second(void) { printf("second, counter %d\n", counter); }

static void *leave(void *arg) {
  counter++;
  if (arg)
    exit(3);
  return 0;
}

int main(void) {
  pthread_t a, b;
  atexit(first);
  atexit(second);
  pthread_create(&a, 0, leave, 0);
  pthread_create(&b, 0, leave, &counter);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
