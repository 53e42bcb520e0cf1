// Mutual exclusion by flags that are sequentially consistent. RACY: they are relaxed, which no interleaving shows.

#include "threads.h"

static atomic_int want[2];
static int inside;

#ifdef RACY
#define get(v) load(v, relaxed)
#define set(v, to) store(v, to, relaxed)
#else
#define get(v) load(v, seq_cst)
#define set(v, to) store(v, to, seq_cst)
#endif

static void run(int me) {
    set(want[me], 1);
    if (!get(want[1 - me])) inside++; // racy
    set(want[me], 0);
}

THREAD(first) { run(0); return unused; }
THREAD(second) { run(1); return unused; }

int main(void) { RUN(first, second); }
