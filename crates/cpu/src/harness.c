/* Runs a litmus test on this CPU again and again, and counts its final states.
 *
 * What is about the test stands above: THREADS, BYTES, SLOTS, COMPONENTS, begin(), finish() and
 * threads[]. A round runs many instances of the test, each in a block of memory of its own; all
 * threads go through the instances in the same order. What differs from round to round, and from
 * instance to instance, is what makes rare states show: on which CPUs threads run, in which order
 * instances come, whether threads wait for each other before each, how long they dawdle, and which
 * cache lines they fetch or flush before.
 *
 * After each round, its states go to standard output: "s COUNT VALUE..." for each, then "r RUNS". */

#define INSTANCES 1000
/* So often a thread looks for the others before an instance; on a busy machine they may be away. */
#define PATIENCE 20000

struct spot { volatile uint64_t value; char rest[120]; };

static struct spot at[THREADS];
static struct spot arrived, phase;
static unsigned char *memory;
static uint64_t (*slots)[THREADS][SLOTS];
static volatile unsigned char ended[INSTANCES][THREADS];
static uint32_t order[INSTANCES];
static uint64_t wanted, done;
static uint32_t instances;
static int together, touching, dawdling, pinned;
static int cpus[CPU_SETSIZE], cpu_count;

static uint64_t next(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13; x ^= x >> 7; x ^= x << 17;
  return *state = x;
}

/* All threads go on when the last one has come. */
static void meet(void) {
  uint64_t now = phase.value;
  if (__atomic_add_fetch(&arrived.value, 1, __ATOMIC_SEQ_CST) == THREADS) {
    arrived.value = 0;
    __atomic_store_n(&phase.value, now + 1, __ATOMIC_SEQ_CST);
    return;
  }
  for (int spins = 0; __atomic_load_n(&phase.value, __ATOMIC_ACQUIRE) == now; spins++) {
    if (spins < 1000) __builtin_ia32_pause(); else sched_yield();
  }
}

static void prepare(uint64_t *random, uint64_t round) {
  uint64_t left = wanted - done;
  instances = left < INSTANCES ? (uint32_t)left : INSTANCES;
  together = next(random) % 4 != 0;
  touching = (int)(next(random) % 4);
  dawdling = (int)(next(random) % 6);
  if (round % 16 == 0) pinned = (int)(next(random) % (uint64_t)(cpu_count + 1));
  for (uint32_t i = 0; i < instances; i++) order[i] = i;
  if (next(random) % 2) {
    for (uint32_t i = instances; i > 1; i--) {
      uint32_t j = (uint32_t)(next(random) % i), other = order[i - 1];
      order[i - 1] = order[j]; order[j] = other;
    }
  }
  for (uint32_t i = 0; i < instances; i++) begin(memory + (size_t)i * BYTES, slots[i]);
  for (int t = 0; t < THREADS; t++) at[t].value = 0;
}

static void pin(int thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (pinned == cpu_count) for (int c = 0; c < cpu_count; c++) CPU_SET(cpus[c], &set);
  else CPU_SET(cpus[(thread + pinned) % cpu_count], &set);
  /* Where that is not allowed, the kernel decides. */
  (void)sched_setaffinity(0, sizeof set, &set);
}

static void round_of(int thread, uint64_t *random) {
  int patient = together;
  for (uint32_t k = 0; k < instances; k++) {
    uint32_t i = order[k];
    unsigned char *block = memory + (size_t)i * BYTES;
    uint64_t r = next(random);
    if (touching) {
      for (size_t line = 0; line < BYTES; line += 64, r = r >> 2 | r << 62) {
        switch (r & 3) {
        case 1: __builtin_prefetch(block + line, 0); break;
        case 2: if (touching > 1) __builtin_prefetch(block + line, 1); break;
        case 3: if (touching > 2) __builtin_ia32_clflush(block + line); break;
        }
      }
    }
    __atomic_store_n(&at[thread].value, k + 1, __ATOMIC_RELEASE);
    for (int t = 0; t < THREADS && patient; t++) {
      for (int spins = 0; __atomic_load_n(&at[t].value, __ATOMIC_ACQUIRE) <= k; spins++) {
        if (spins == PATIENCE) { patient = 0; break; }
      }
    }
    for (uint64_t d = (r >> 32) & ((1u << dawdling) - 1); d > 0; d--) __asm__ volatile("");
    ended[i][thread] = (unsigned char)threads[thread](block, slots[i][thread]);
  }
}

static void count(void) {
  static int64_t states[INSTANCES][COMPONENTS + 1];
  static uint64_t counts[INSTANCES];
  uint32_t found = 0;
  for (uint32_t i = 0; i < instances; i++) {
    int64_t state[COMPONENTS + 1] = {0};
    int all = 1;
    for (int t = 0; t < THREADS; t++) all &= ended[i][t];
    if (!all) continue;
    finish(memory + (size_t)i * BYTES, slots[i], state);
    uint32_t s = 0;
    while (s < found && memcmp(states[s], state, sizeof state) != 0) s++;
    if (s == found) { memcpy(states[s], state, sizeof state); counts[s] = 0; found++; }
    counts[s]++;
  }
  done += instances;
  for (uint32_t s = 0; s < found; s++) {
    printf("s %" PRIu64, counts[s]);
    for (int c = 0; c < COMPONENTS; c++) printf(" %" PRId64, states[s][c]);
    printf("\n");
  }
  printf("r %" PRIu64 "\n", done);
  if (fflush(stdout) != 0) exit(4);
}

static void *work(void *arg) {
  int thread = (int)(intptr_t)arg;
  uint64_t random = 0x9e3779b97f4a7c15u * (uint64_t)(thread + 1);
  for (uint64_t round = 0; ; round++) {
    if (thread == 0) prepare(&random, round);
    meet();
    if (round % 16 == 0) pin(thread);
    round_of(thread, &random);
    meet();
    if (thread == 0) count();
    meet();
    if (done >= wanted) return NULL;
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 4;
  /* Who has started this has gone: nobody wants to know. */
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  wanted = strtoull(argv[1], NULL, 10);
  struct rlimit none = {0, 0}, most = {0, 0};
  most.rlim_cur = most.rlim_max = strtoull(argv[2], NULL, 10);
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)setrlimit(RLIMIT_FSIZE, &none);
  (void)setrlimit(RLIMIT_AS, &most);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; c++) if (CPU_ISSET(c, &set)) cpus[cpu_count++] = c;
  if (cpu_count == 0) cpu_count = 1;
  memory = mmap(NULL, (size_t)INSTANCES * BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  slots = aligned_alloc(128, INSTANCES * sizeof *slots);
  if (memory == MAP_FAILED || slots == NULL) return 5;
  if (wanted == 0) return 0;
  pthread_t others[THREADS];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  for (int t = 1; t < THREADS; t++)
    if (pthread_create(&others[t], &attributes, work, (void *)(intptr_t)t) != 0) return 5;
  work((void *)0);
  for (int t = 1; t < THREADS; t++) pthread_join(others[t], NULL);
  return 0;
}
