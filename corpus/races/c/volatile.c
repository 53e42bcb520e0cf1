// A volatile flag, as before C11: taken for release and acquire. RACY: it is not even volatile.

#include "threads.h"

static int data;
#ifdef RACY
static int ready;
#else
static volatile int ready;
#endif

THREAD(writer) {
    data = 42; // racy
    ready = 1; // racy
    return unused;
}

THREAD(reader) {
    if (ready) // racy
        assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
