// What must not be done with memory: -DCASE=... is one of the functions below.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static volatile int variable[8];
static int *volatile shared;
static char *volatile text;

static pthread_t start(void *(*f)(void *), void *arg) {
    pthread_t t;
    pthread_create(&t, 0, f, arg);
    return t;
}

static int *new(int n) {
    int *p = malloc(n * sizeof *p);
    for (int i = 0; i < n; i++) ((volatile int *)p)[i] = i;
    return p;
}

static void read_freed(void) { volatile int *p = new(4); free((void *)p); variable[0] = p[2]; }
static void write_freed(void) { volatile int *p = new(4); free((void *)p); p[0] = 1; }
static void atomic_freed(void) { _Atomic int *p = (void *)new(4); free((void *)p); atomic_fetch_add(p, 1); }
static void copy_freed(void) { int *p = new(4); free(p); memcpy((void *)variable, p, 16); }
static void length_freed(void) { text = strdup("text"); free(text); variable[0] = strlen(text); }
static void old_block(void) { volatile int *p = new(4); shared = realloc((void *)p, 64); p[0] = 1; }
static void behind(void) { volatile int *p = new(5); p[5] = 1; }
static void half_behind(void) { char *p = malloc(6); *(volatile int *)(p + 4) = 1; free(p); }
static void before(void) { volatile int *p = new(4); variable[0] = p[-1]; }
static void far_behind(void) { volatile int *p = new(100); p[110] = 1; }
static void behind_zeros(void) { volatile int *p = calloc(3, 4); p[3] = 1; }
static void behind_aligned(void) { volatile char *p = aligned_alloc(64, 64); p[64] = 1; }
static void behind_large(void) { volatile char *p = malloc(3 << 20); p[0] = 1; p[2 << 20] = 1; p[3 << 20] = 1; }
static void no_end(void) { text = malloc(4); memset(text, 'x', 4); variable[0] = strlen(text); }
static void empty(void) { volatile char *p = malloc(0); p[0] = 1; }
static void twice(void) { int *p = new(4); free(p); free(p); }
static void twice_moved(void) { int *p = new(4); shared = realloc(p, 64); free(p); }
static void inside(void) { int *p = new(4); free(p + 1); }
static void of_a_variable(void) { free((void *)variable); }
static void of_the_stack(void) { int here[4]; free(here); }

static void *reads(void *arg) { return (void *)(long)*(volatile int *)arg; }
static void *frees(void *arg) { free(arg); return 0; }

// The two have nothing else in common.
static void unordered(void) {
    int *p = new(1);
    pthread_t t = start(reads, p), u = start(frees, p);
    pthread_join(t, 0);
    pthread_join(u, 0);
}

static void both(void) {
    int *p = new(1);
    pthread_t t = start(frees, p), u = start(frees, p);
    pthread_join(t, 0);
    pthread_join(u, 0);
}

// One reads the pointer before it is cleared, and what it points to after that was freed.
static void *uses_shared(void *arg) {
    int *p = shared;
    if (p) variable[0] = *(volatile int *)p;
    return arg;
}
static void taken_away(void) {
    shared = new(1);
    pthread_t t = start(uses_shared, 0);
    int *p = shared;
    shared = 0;
    free(p);
    pthread_join(t, 0);
}

// The stack of a thread is gone when it has ended.
static void *shows(void *arg) {
    volatile int here = 5;
    shared = (int *)&here;
    variable[1] = here;
    return arg;
}
static void ended(void) {
    pthread_join(start(shows, 0), 0);
    variable[0] = *(volatile int *)shared;
}

static __thread volatile int own;
static void *shows_own(void *arg) {
    own = 5;
    shared = (int *)&own;
    return arg;
}
static void ended_own(void) {
    pthread_join(start(shows_own, 0), 0);
    variable[0] = *(volatile int *)shared;
}

// A function returns while another thread uses its variable, or is about to.
static void *looks(void *arg) {
    variable[0] = *(volatile int *)arg;
    return 0;
}
static __attribute__((noinline)) pthread_t lends(void) {
    volatile int here = 1;
    pthread_t t = start(looks, (void *)&here);
    variable[1] = here;
    return t;
}
static void returned(void) { pthread_join(lends(), 0); }

// A hazard pointer that is published too late: wrong only where stores are delayed.
static _Atomic(int *) pointer, hazard;
static void *protects(void *arg) {
    int *p = atomic_load_explicit(&pointer, memory_order_acquire);
    atomic_store_explicit(&hazard, p, memory_order_relaxed);
    if (p && p == atomic_load_explicit(&pointer, memory_order_acquire)) variable[0] = *(volatile int *)p;
    return arg;
}
static void hazards(void) {
    atomic_store(&pointer, new(1));
    pthread_t t = start(protects, 0);
    int *p = atomic_exchange(&pointer, 0);
    if (atomic_load(&hazard) != p) free(p);
    pthread_join(t, 0);
}

// The block is still to be written when the other thread has seen that it was.
static _Atomic int done;
static void *finishes(void *arg) {
    *(volatile int *)arg = 1;
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return 0;
}
static void too_late(void) {
    int *p = new(1);
    pthread_t t = start(finishes, p);
    while (!atomic_load_explicit(&done, memory_order_acquire)) ;
    free(p);
    pthread_join(t, 0);
}

int main(void) {
    CASE();
    return 0;
}
