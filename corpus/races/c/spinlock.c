// A lock by atomic_flag. RACY: it is freed with a relaxed store.

#include "threads.h"

static int count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

THREAD(run) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {}
    count++; // racy
#ifdef RACY
    atomic_flag_clear_explicit(&lock, memory_order_relaxed);
#else
    atomic_flag_clear_explicit(&lock, memory_order_release);
#endif
    return unused;
}

int main(void) {
    RUN(run, run);
    assert(count == 2);
}
