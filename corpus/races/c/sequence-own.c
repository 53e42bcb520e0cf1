// A relaxed store of the same thread goes on with its release sequence, as C11 has it. RACY: it was relaxed from the start.

#include "threads.h"

static int data;
static atomic_int x;

THREAD(writer) {
    data = 42; // racy
#ifdef RACY
    store(x, 1, relaxed);
#else
    store(x, 1, release);
#endif
    store(x, 2, relaxed);
    return unused;
}

THREAD(reader) {
    if (load(x, acquire) == 2) assert(data == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
