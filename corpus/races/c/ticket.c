// A ticket lock. RACY: the next number is called with a relaxed store.

#include "threads.h"

static int count;
static atomic_int next, serving;

THREAD(run) {
    int mine = add(next, 1, relaxed);
    while (load(serving, acquire) != mine) {}
    count++; // racy
#ifdef RACY
    store(serving, mine + 1, relaxed);
#else
    store(serving, mine + 1, release);
#endif
    return unused;
}

int main(void) {
    RUN(run, run);
    assert(count == 2);
}
