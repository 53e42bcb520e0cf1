// A struct is copied while another thread changes it: half of the change may be seen, but not its
// second half alone.
#include <assert.h>
#include <pthread.h>
struct pair {
  long a, b, c, d, e, f, g, h, i;
};
static struct pair source, target;

static void *change(void *arg) {
  (void)arg;
  source.a = 1;
  source.i = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, change, 0);
  target = source;
  pthread_join(t, 0);
  assert(target.a >= target.i);
  return 0;
}
