// Threads that only read do not race. RACY: one of them writes what is there already.

#include "threads.h"

static int value = 1;

THREAD(reader) {
    return value == 7 ? unused : NULL; // racy
}

THREAD(other) {
#ifdef RACY
    value = 1; // racy
#endif
    return value == 7 ? unused : NULL;
}

int main(void) { RUN(reader, other); }
