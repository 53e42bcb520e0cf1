// A fence orders what comes before it. RACY: the data is written behind the release fence.

#include "threads.h"

static int data;
static atomic_int ready;

THREAD(writer) {
#ifdef RACY
    fence(seq_cst);
    data = 42; // racy
#else
    data = 42;
    fence(seq_cst);
#endif
    store(ready, 1, relaxed);
    return unused;
}

THREAD(reader) {
    if (load(ready, relaxed)) {
        fence(seq_cst);
        assert(data == 42); // racy
    }
    return unused;
}

int main(void) { RUN(writer, reader); }
