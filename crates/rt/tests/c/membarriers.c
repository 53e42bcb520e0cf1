// One side has only compiler fences, the other makes up for it by membarrier(2): -DCASE=... says how.
#include <assert.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int reading, gone;
static _Atomic int bad;

static int barrier(int command) { return syscall(__NR_membarrier, command, 0, 0); }

static void *reader(void *arg) {
    atomic_store_explicit(&reading, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    int seen = atomic_load_explicit(&gone, memory_order_relaxed);
    return (void *)(long)seen;
}

static void run(int command) {
    pthread_t t;
    void *seen;
    assert(barrier(MEMBARRIER_CMD_QUERY) & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    assert(barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
    pthread_create(&t, 0, reader, 0);
    atomic_store_explicit(&gone, 1, memory_order_relaxed);
    if (command >= 0) assert(barrier(command) == 0);
    int busy = atomic_load_explicit(&reading, memory_order_relaxed);
    pthread_join(t, &seen);
    // One of them has to see the other.
    assert(busy || seen);
}

static void private(void) { run(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }
static void global(void) { run(MEMBARRIER_CMD_GLOBAL); }
static void none(void) { run(-1); }
static void before(void) {
    // Too early: the store comes after it.
    pthread_t t;
    void *seen;
    pthread_create(&t, 0, reader, 0);
    barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    atomic_store_explicit(&gone, 1, memory_order_relaxed);
    int busy = atomic_load_explicit(&reading, memory_order_relaxed);
    pthread_join(t, &seen);
    assert(busy || seen);
}

int main(void) {
    CASE();
    return 0;
}
