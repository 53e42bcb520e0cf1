// A compare-and-swap that fails is a load with an order of its own. RACY: that is relaxed.

#include "threads.h"

static int data;
static atomic_int x;

THREAD(writer) {
    data = 42; // racy
    store(x, 1, release);
    return unused;
}

THREAD(reader) {
    int none = 0;
#ifdef RACY
    int done = atomic_compare_exchange_strong_explicit(&x, &none, 0, memory_order_acq_rel, memory_order_relaxed);
#else
    int done = atomic_compare_exchange_strong_explicit(&x, &none, 0, memory_order_acq_rel, memory_order_acquire);
#endif
    if (!done) assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
