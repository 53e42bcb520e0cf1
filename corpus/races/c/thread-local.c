// A counter per thread. RACY: it is one for all.

#include "threads.h"

#ifdef RACY
static int count;
#else
static _Thread_local int count;
#endif

static void step(int *n) { *n += 1; } // racy

THREAD(run) {
    step(&count);
    return unused;
}

int main(void) { RUN(run, run); }
