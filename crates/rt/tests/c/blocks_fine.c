// What may be done with memory although it looks suspicious: -DCASE=... is one of the functions below.
#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int variable[8];
static int *volatile shared;

static pthread_t start(void *(*f)(void *), void *arg) {
    pthread_t t;
    pthread_create(&t, 0, f, arg);
    return t;
}

// What libc allocates is for the program to free.
static void by_libc(void) {
    char *line = 0, *made = 0;
    size_t size = 0;
    FILE *f = fmemopen((char[]){"one\ntwo\n"}, 8, "r");
    while (getline(&line, &size, f) > 0) variable[0] += strlen(line);
    fclose(f);
    free(line);
    assert(asprintf(&made, "%d", variable[0]) > 0);
    char *copy = strdup(made);
    assert(strcmp(copy, made) == 0);
    free(copy);
    free(made);
    char *path = realpath("/", 0);
    free(path);
    struct dirent **entries;
    int n = scandir("/proc/self", &entries, 0, alphasort);
    while (n-- > 0) free(entries[n]);
    free(entries);
}

// What was allocated before main began.
static int *early;
__attribute__((constructor)) static void begin(void) {
    early = malloc(40);
    early[9] = 4;
}
static void from_before(void) {
    early[9]++;
    early = realloc(early, 80);
    assert(early[9] == 5);
    early[19] = 1;
    free(early);
}

static void sizes(void) {
    free(0);
    free(malloc(0));
    char *p = calloc(3, 5);
    p[14] = 1;
    p = realloc(p, 7);
    p[6] = 1;
    p = realloc(p, 70000);
    memset(p, 1, 70000);
    assert(malloc_usable_size(p) >= 70000);
    free(p);
    void *q;
    assert(posix_memalign(&q, 256, 10) == 0 && (long)q % 256 == 0);
    memset(q, 0, 10);
    free(q);
    char *large = malloc(5 << 20);
    large[0] = large[(5 << 20) - 1] = large[1 << 20] = 1;
    free(large);
    // Sixteen bytes that are not aligned.
    char *r = malloc(33);
    __int128 wide = 1;
    memcpy(r + 17, &wide, 16);
    free(r);
}

// Comparisons look no further than to the first difference.
static void strings(void) {
    char *p = malloc(3), *q = malloc(4);
    memcpy(p, "abc", 3);
    memcpy(q, "abd", 4);
    assert(strncmp(p, q, 10) < 0);
    assert(strncmp(p, q, 2) == 0);
    assert(memcmp(p, q, 3) < 0);
    strncpy(q, p, 3);
    assert(strchr(p, 'b') == p + 1);
    memcpy(p, "12;", 3);
    assert(atoi(p) == 12 && strtol(p, 0, 10) == 12);
    free(p);
    free(q);
}

// Memory that was mapped is no block, and may be reached from one.
static void mapped(void) {
    int *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = p[2047] = 1;
    munmap(p, 8192);
}

// Functions leave their stack by jumps, and others use it again.
static jmp_buf back;
static void deep(int n) {
    volatile int here[16];
    here[n] = n;
    if (n == 15) longjmp(back, here[n]);
    deep(n + 1);
}
static int room(int n) {
    volatile int *p = alloca(n * sizeof *p);
    for (int i = 0; i < n; i++) p[i] = i;
    return p[n - 1];
}
static void *jumps(void *arg) {
    if (setjmp(back) == 0) deep(0);
    variable[0] = room(8) + room(800) + room(8);
    return arg;
}
static void stacks(void) {
    pthread_join(start(jumps, 0), 0);
    jumps(0);
}

// Variables of a thread that waits are there for others.
static void *sets(void *arg) { *(volatile int *)arg = 3; return arg; }
static __thread volatile int own;
static void *lends(void *arg) {
    volatile int here = 0;
    own = 0;
    pthread_join(start(sets, (void *)&here), 0);
    pthread_join(start(sets, (void *)&own), 0);
    assert(here == 3 && own == 3);
    return arg;
}
static void lent(void) { pthread_join(start(lends, 0), 0); lends(0); }

// A function that lends a variable waits until it is given back, and the next one uses the same stack.
static _Atomic int given_back;
static void *gives_back(void *arg) {
    *(volatile int *)arg = 7;
    atomic_store(&given_back, 1);
    return 0;
}
static __attribute__((noinline)) pthread_t lends_and_waits(int n) {
    volatile int here = 0;
    pthread_t t = start(gives_back, (void *)&here);
    while (!atomic_load(&given_back)) ;
    assert(here == 7);
    return t;
}
static void *reads_another(void *arg) {
    volatile int here = *(int *)arg;
    return (void *)(long)here;
}
static void given(void) {
    pthread_t t = lends_and_waits(0);
    int here = room(3);
    pthread_t u = start(reads_another, &here);
    pthread_join(u, 0);
    pthread_join(t, 0);
}

// Whoever counts down to zero frees it.
struct counted { _Atomic int users; int value; };
static void *drops(void *arg) {
    struct counted *c = arg;
    assert(c->value == 1);
    if (atomic_fetch_sub(&c->users, 1) == 1) free(c);
    return 0;
}
static void counted(void) {
    struct counted *c = malloc(sizeof *c);
    atomic_init(&c->users, 2);
    c->value = 1;
    pthread_t t = start(drops, c);
    drops(c);
    pthread_join(t, 0);
}

// Handed over and freed by another thread; its maker has written parts that nobody else reads.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int *queue;
static void *makes(void *arg) {
    int *p = malloc(8 * sizeof *p);
    p[0] = 1;
    p[7] = 2;
    pthread_mutex_lock(&mutex);
    queue = p;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return arg;
}
static void handed_over(void) {
    pthread_t t = start(makes, 0);
    pthread_mutex_lock(&mutex);
    while (!queue) pthread_cond_wait(&condition, &mutex);
    int *p = queue;
    pthread_mutex_unlock(&mutex);
    variable[0] = p[0];
    free(p);
    pthread_join(t, 0);
}

// A hazard pointer as it should be.
static _Atomic(int *) pointer, hazard;
static void *protects(void *arg) {
    int *p = atomic_load(&pointer);
    atomic_store(&hazard, p);
    if (p && p == atomic_load(&pointer)) variable[0] = *(volatile int *)p;
    return arg;
}
static void hazards(void) {
    atomic_store(&pointer, malloc(4));
    *pointer = 1;
    pthread_t t = start(protects, 0);
    int *p = atomic_exchange(&pointer, 0);
    if (atomic_load(&hazard) != p) free(p);
    pthread_join(t, 0);
}

// What is stored to a block before its own thread frees it leaves the buffer in time.
static void *stores_and_frees(void *arg) {
    struct counted *c = malloc(sizeof *c);
    atomic_store_explicit(&c->users, 1, memory_order_relaxed);
    c->value = 2;
    free(c);
    atomic_store_explicit((_Atomic int *)&variable[1], 1, memory_order_relaxed);
    return arg;
}
static void buffered(void) {
    pthread_t t = start(stores_and_frees, 0);
    stores_and_frees(0);
    pthread_join(t, 0);
}

static _Atomic int done;
static void *finishes(void *arg) {
    *(volatile int *)arg = 1;
    atomic_store_explicit(&done, 1, memory_order_release);
    return 0;
}
static void in_time(void) {
    int *p = malloc(4);
    pthread_t t = start(finishes, p);
    while (!atomic_load_explicit(&done, memory_order_acquire)) ;
    free(p);
    pthread_join(t, 0);
}

int main(void) {
    CASE();
    return 0;
}
