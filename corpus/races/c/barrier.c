// Each thread reads what the other wrote before the barrier. RACY: and writes again at once.

#include "threads.h"

static int cell[2];
static pthread_barrier_t barrier;

static void run(int me) {
    cell[me] = 1; // racy
    pthread_barrier_wait(&barrier);
    assert(cell[1 - me]); // racy
#ifndef RACY
    pthread_barrier_wait(&barrier);
#endif
    cell[me] = 2; // racy
}

THREAD(first) { run(0); return unused; }
THREAD(second) { run(1); return unused; }

int main(void) {
    pthread_barrier_init(&barrier, NULL, 2);
    RUN(first, second);
}
