// A count of references: who takes the last one owns the data. RACY: the updates are relaxed.

#include "threads.h"

static int data[2];
static atomic_int count = 2;

#ifdef RACY
#define leave() atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed)
#else
#define leave() atomic_fetch_sub_explicit(&count, 1, memory_order_acq_rel)
#endif

THREAD(first) {
    data[0] = 1; // racy
    if (leave() == 1) assert(data[1] == 1); // racy
    return unused;
}

THREAD(second) {
    data[1] = 1; // racy
    if (leave() == 1) assert(data[0] == 1); // racy
    return unused;
}

int main(void) { RUN(first, second); }
