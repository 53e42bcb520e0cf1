// What a library with one mistake in it gets wrong: $SCRIPT is one of the functions below.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int data, other;
static volatile int first, second;
static atomic_int flag, ready;
static void *shared;

static void two(void *(*f)(void *), void *(*g)(void *)) {
    pthread_t a, b;
    pthread_create(&a, 0, f, 0);
    pthread_create(&b, 0, g, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

// Memory.

static void across(void) { char *p = malloc(8); *(volatile int *)(p + 6) = 1; }
static void of_nothing(void) { free((void *)12345); }
__attribute__((noinline)) static int *gone(void) { int here[4]; int *volatile p = here; return p; }
static void own_returned(void) { *(volatile int *)gone() = 1; }

static void *reads_shared(void *arg) { return (void *)(long)*(volatile int *)shared; }
static void *frees_shared(void *arg) { free(shared); return arg; }
static void *unmaps_shared(void *arg) { munmap(shared, 4096); return arg; }
static void *locks_shared(void *arg) { pthread_mutex_lock(shared); pthread_mutex_unlock(shared); return arg; }
static void large(void) { shared = malloc(8000); *(volatile int *)shared = 1; two(reads_shared, frees_shared); }
static void lock_is_freed(void) {
    shared = malloc(sizeof(pthread_mutex_t));
    pthread_mutex_init(shared, 0);
    two(locks_shared, frees_shared);
}
static void unmapped(void) {
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    two(reads_shared, unmaps_shared);
}

static void *uses_block(void *arg) {
    int *p = malloc(8);
    *p = 1;
    __asm__ volatile("" ::"r"(p) : "memory");
    free(p);
    return arg;
}
static void used_again(void) { two(uses_block, uses_block); }
static void zero_again(void) {
    char *p = malloc(8);
    memset(p, 1, 8);
    __asm__ volatile("" ::"r"(p) : "memory");
    free(p);
    p = calloc(1, 8);
    if (p[0]) abort();
}

// Only one of both ever reads before the other stores, if nothing else is known to be shared.
static void *reads_data(void *arg) { first = *(int *)&data; return arg; }
static void *reads_then_writes(void *arg) { if (!data) data = 1; return arg; }
static void third_access(void) { two(reads_data, reads_then_writes); }

// Orders.

static void *adds(void *arg) { data = 1; atomic_fetch_add_explicit(&flag, 1, memory_order_acq_rel); return arg; }
static void *stores(void *arg) { data = 1; atomic_store_explicit(&flag, 1, memory_order_release); return arg; }
static void *stores_behind(void *arg) {
    data = 1;
    atomic_thread_fence(memory_order_acq_rel);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return arg;
}
static void *loads(void *arg) { if (atomic_load_explicit(&flag, memory_order_acquire)) second = data; return arg; }
static void *swaps(void *arg) {
    int expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&flag, &expected, 2, memory_order_acq_rel, memory_order_relaxed))
        second = data;
    return arg;
}
static void acquired_and_released(void) { two(adds, loads); }
static void fenced(void) { two(stores_behind, loads); }
static void failed(void) { two(stores, swaps); }

struct many { long at[4]; };
static struct many all;
static void *stores_many(void *arg) {
    struct many one = {{1}};
    data = 1;
    __atomic_store(&all, &one, __ATOMIC_RELEASE);
    return arg;
}
static void *swaps_many(void *arg) {
    struct many expected = {{0}}, two = {{2}};
    if (!__atomic_compare_exchange(&all, &expected, &two, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) second = data;
    return arg;
}
static void failed_many(void) { two(stores_many, swaps_many); }
static void *loads_many(void *arg) {
    struct many seen;
    __atomic_load(&all, &seen, __ATOMIC_ACQUIRE);
    if (seen.at[0] && !atomic_load_explicit(&ready, memory_order_relaxed)) abort();
    return arg;
}
static void *stores_then_many(void *arg) {
    struct many one = {{1}};
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    __atomic_store(&all, &one, __ATOMIC_RELAXED);
    return arg;
}
static void many_in_order(void) { two(stores_then_many, loads_many); }

static void nand(void) { if (__atomic_fetch_nand(&data, 0, __ATOMIC_RELAXED) != 0 || data != -1) abort(); }

void __tsan_read_write4(void *);
__attribute__((no_sanitize_thread, noinline)) static void increase(int *p) { __tsan_read_write4(p); ++*p; }
static void *increases_other(void *arg) { data = 1; increase(&other); return arg; }
static void *increases_data(void *arg) { other = 1; increase(&data); return arg; }
static void increased(void) { two(increases_other, increases_data); }

// Stores that may not wait, or before which none may.
static void *stores_strongly(void *arg) {
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_seq_cst);
    return arg;
}
static void *stores_in_order(void *arg) {
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_release);
    return arg;
}
static void *loads_in_order(void *arg) {
    if (atomic_load_explicit(&flag, memory_order_acquire) && !atomic_load_explicit(&ready, memory_order_relaxed)) abort();
    return arg;
}
static void strong_store(void) { two(stores_strongly, loads_in_order); }
static void released_store(void) { two(stores_in_order, loads_in_order); }

// Time, where it is virtual.
static void *waits_a_second(void *arg) {
    struct timespec span = {1, 0};
    sleep(10);
    if (syscall(SYS_futex, &flag, FUTEX_WAIT, 0, &span, 0, 0) != 0 && !flag) abort();
    return arg;
}
static void *wakes_before(void *arg) {
    usleep(10500000);
    flag = 1;
    syscall(SYS_futex, &flag, FUTEX_WAKE, 1, 0, 0, 0);
    return arg;
}
static void woken_in_time(void) { two(waits_a_second, wakes_before); }
static void *sleeps_shortly(void *arg) { usleep(1); flag = 1; return arg; }
static void *looks_at_clock(void *arg) {
    clock_t last = 0;
    for (int i = 0; i < 100; i++) last = clock();
    while (!flag) sched_yield();
    if (clock() < last) abort();
    return arg;
}
static void later_and_later(void) { two(sleeps_shortly, looks_at_clock); }
static void *sleeps_until(void *arg) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec++;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &now, 0);
    flag = 1;
    return arg;
}
static void *sleeps_longer(void *arg) { sleep(2); if (!flag) abort(); return arg; }
static void until_then(void) { two(sleeps_until, sleeps_longer); }

// What is kept for all threads.
static void *waits_for_variable(void *arg) { while (!getenv("PLANTED")) sched_yield(); return arg; }
static void *sets_variable(void *arg) { setenv("PLANTED", "1", 1); return arg; }
static void variable_is_set(void) { two(waits_for_variable, sets_variable); }
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static void *waits_told(void *arg) {
    pthread_mutex_lock(&mutex);
    other = 1;
    pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}
static void *destroys_told(void *arg) {
    pthread_mutex_lock(&mutex);
    if (!other) _exit(0);
    pthread_cond_destroy(&condition);
    pthread_mutex_unlock(&mutex);
    return arg;
}
static void waited_for(void) { two(waits_told, destroys_told); }
static pthread_key_t key;
static int ended;
static void ends(void *value) { if (!ended++) pthread_setspecific(key, value); }
static void *sets_key(void *arg) { pthread_setspecific(key, &key); return arg; }
static void ended_twice(void) {
    pthread_t t;
    pthread_key_create(&key, ends);
    pthread_create(&t, 0, sets_key, 0);
    pthread_join(t, 0);
    if (ended != 2) abort();
}
static int file;
static void *closes(void *arg) { close(file); return arg; }
static void *writes_closed(void *arg) { if (write(file, "", 1) < 0) abort(); return arg; }
static void *writes_open(void *arg) { if (write(file, "", 1) > 0) abort(); return arg; }
static void closed_first(void) { file = open("/dev/null", O_WRONLY); two(closes, writes_closed); }
static void closed_last(void) { file = open("/dev/null", O_WRONLY); two(closes, writes_open); }
static void closes_input(void) { two(stores, swaps); if (close(0)) abort(); }

#define EACH(F) \
    F(across) F(of_nothing) F(own_returned) F(large) F(lock_is_freed) F(unmapped) F(used_again) F(zero_again) \
    F(third_access) F(acquired_and_released) F(fenced) F(failed) F(failed_many) F(many_in_order) F(nand) \
    F(strong_store) F(released_store) F(woken_in_time) F(later_and_later) F(until_then) F(variable_is_set) \
    F(ended_twice) F(waited_for) F(closed_first) F(closed_last) F(closes_input) F(increased)

int main(void) {
    const char *name = getenv("SCRIPT");
#define CALL(F) if (!strcmp(name, #F)) F();
    EACH(CALL)
    return 0;
}
