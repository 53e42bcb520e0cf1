// An atomic update of another thread goes on with a release sequence. RACY: a store of another thread ends it.

#include "threads.h"

static int data;
static atomic_int x;

THREAD(first) {
    data = 42; // racy
    store(x, 1, release);
    return unused;
}

THREAD(second) {
#ifdef RACY
    if (load(x, relaxed) == 1) store(x, 2, relaxed);
#else
    int one = 1;
    atomic_compare_exchange_strong_explicit(&x, &one, 2, memory_order_relaxed, memory_order_relaxed);
#endif
    return unused;
}

THREAD(third) {
    if (load(x, acquire) == 2) assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(first, second, third); }
