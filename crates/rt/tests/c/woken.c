// Threads that wait for a condition variable and wake each other, as $SCRIPT says: a word for each thread, with `w` to wait,
// `s` to wake one, `S` to do so if all others wait and else to end the program, `b` to wake all, and `t` to wait until a time. It
// prints in which order they were woken.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static char order[32];
static int threads_there, waiting, woken;

static void tell(char what) {
  order[woken++] = what;
}

static void *thread(void *arg) {
  const char *script = getenv("SCRIPT");
  for (long skip = (long)arg; skip > 0; script++)
    skip -= *script == ' ';
  for (; *script && *script != ' '; script++) {
    pthread_mutex_lock(&lock);
    switch (*script) {
    case 'w':
      waiting++;
      pthread_cond_wait(&condition, &lock);
      tell('0' + (char)(long)arg);
      break;
    case 't': {
      struct timespec until = {0, 0};
      int error = pthread_cond_timedwait(&condition, &lock, &until);
      tell((error ? 'a' : '0') + (char)(long)arg);
      break;
    }
    case 'S':
      if (waiting < threads_there - 1)
        exit(0);
      pthread_cond_signal(&condition);
      break;
    case 's':
      pthread_cond_signal(&condition);
      break;
    default:
      pthread_cond_broadcast(&condition);
    }
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

int main(void) {
  pthread_t threads[4];
  long n = 1;
  for (const char *at = getenv("SCRIPT"); *at; at++)
    n += *at == ' ';
  threads_there = (int)n;
  for (long i = 0; i < n; i++)
    pthread_create(&threads[i], 0, thread, (void *)i);
  for (long i = 0; i < n; i++)
    pthread_join(threads[i], 0);
  order[woken] = '\n';
  return write(1, order, (size_t)woken + 1) < 0;
}
