// A sequence lock with relaxed atomics for its data. RACY: the data is plain.

#include "threads.h"

static atomic_int sequence;
#ifdef RACY
static int a, b;
#define get(v) v
#define set(v, to) v = to
#else
static atomic_int a, b;
#define get(v) load(v, relaxed)
#define set(v, to) store(v, to, relaxed)
#endif

THREAD(writer) {
    store(sequence, 1, relaxed);
    fence(release);
    set(a, 1); // racy
    set(b, 1); // racy
    store(sequence, 2, release);
    return unused;
}

THREAD(reader) {
    int before = load(sequence, acquire);
    int x = get(a); // racy
    int y = get(b); // racy
    fence(acquire);
    if (before % 2 == 0 && load(sequence, relaxed) == before) assert(x == y);
    return unused;
}

int main(void) { RUN(writer, reader); }
