// Message passing: the flag is released and acquired. RACY: the store is relaxed.

#include "threads.h"

static int data;
static atomic_int ready;

THREAD(writer) {
    data = 42; // racy
#ifdef RACY
    store(ready, 1, relaxed);
#else
    store(ready, 1, release);
#endif
    return unused;
}

THREAD(reader) {
    if (load(ready, acquire)) assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
