// Atomic accesses do not race, in whatever order. RACY: two of them are plain.

#include "threads.h"

#ifdef RACY
static int x, y;
#define get(v) v
#define set(v, to) v = to
#else
static atomic_int x, y;
#define get(v) load(v, relaxed)
#define set(v, to) store(v, to, relaxed)
#endif

THREAD(first) {
    set(x, 1); // racy
    return get(y) == 7 ? unused : NULL; // racy
}

THREAD(second) {
    set(y, 1); // racy
    return get(x) == 7 ? unused : NULL; // racy
}

int main(void) { RUN(first, second); }
