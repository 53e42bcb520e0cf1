// Message passing. RACY: the load is relaxed.

#include "threads.h"

static int data;
static atomic_int ready;

THREAD(writer) {
    data = 42; // racy
    store(ready, 1, release);
    return unused;
}

THREAD(reader) {
#ifdef RACY
    int seen = load(ready, relaxed);
#else
    int seen = load(ready, acquire);
#endif
    if (seen) assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
