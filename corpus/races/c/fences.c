// Message passing with relaxed accesses and fences. RACY: one fence is missing, RACY=1 that of the writer, RACY=2 that of the reader.

#include "threads.h"

static int data;
static atomic_int ready;

#ifndef RACY
#define RACY 0
#endif

THREAD(writer) {
    data = 42; // racy
    if (RACY != 1) fence(release);
    store(ready, 1, relaxed);
    return unused;
}

THREAD(reader) {
    if (load(ready, relaxed)) {
        if (RACY != 2) fence(acquire);
        assert(data == 42); // racy
    }
    return unused;
}

int main(void) { RUN(writer, reader); }
