// Message passing with a reader who waits. RACY: it waits with relaxed loads.

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
    while (!load(ready, relaxed)) {}
#else
    while (!load(ready, acquire)) {}
#endif
    assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
