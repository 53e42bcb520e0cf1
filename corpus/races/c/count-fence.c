// A count of references with a release update and an acquire fence. RACY: without the fence.

#include "threads.h"

static int data[2];
static atomic_int count = 2;

static int leave(void) {
    if (atomic_fetch_sub_explicit(&count, 1, memory_order_release) != 1) return 0;
#ifndef RACY
    fence(acquire);
#endif
    return 1;
}

THREAD(first) {
    data[0] = 1; // racy
    if (leave()) assert(data[1] == 1); // racy
    return unused;
}

THREAD(second) {
    data[1] = 1; // racy
    if (leave()) assert(data[0] == 1); // racy
    return unused;
}

int main(void) { RUN(first, second); }
