// An atomic counter. RACY: somebody reads it as if it were an ordinary one.

#include "threads.h"

static atomic_int count;

THREAD(counter) {
    add(count, 1, seq_cst); // racy
    return unused;
}

THREAD(reader) {
#ifdef RACY
    int seen = *(int *)&count; // racy
#else
    int seen = load(count, relaxed);
#endif
    assert(seen < 2);
    return unused;
}

int main(void) { RUN(counter, reader); }
