// What the kernel keeps for a process is put back, too: descriptors, offsets, mappings, handlers; and
// large memory is restored without being copied.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char large[1 << 28];
static int n;
static volatile int x;

__attribute__((destructor)) static void last(void) { printf("last, n %d\n", n); }

static void *work(void *arg) {
  (void)arg;
  x++;
  __atomic_add_fetch(&n, 1, __ATOMIC_SEQ_CST);
  return 0;
}

static void ignore(int signal) { (void)signal; }

int main(void) {
  char text[4] = "";
  pthread_t a, b;
  int fd = open("/dev/zero", O_RDONLY);
  assert(fd >= 0 && fd < 20);
  assert(read(0, text, 3) == 3 && !strcmp(text, "abc"));
  assert(read(fd, large + (1 << 27), 8) == 8);
  char *page = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(page != MAP_FAILED && page[5] == 0);
  page[5] = 1;
  for (int i = 0; i < 1 << 28; i += 1 << 24) {
    assert(large[i] == 0);
    large[i] = 1;
  }
  signal(SIGSEGV, ignore);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(n == 2);
  return 0;
}
