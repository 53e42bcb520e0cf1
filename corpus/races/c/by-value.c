// Structures that are passed by value from shared memory, in registers and on the stack, under a mutex. RACY: without.

#include "threads.h"

struct small { int a, b; };
struct large { long a, b, c, d; };

static struct small pair;
static struct large four;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef RACY
#define LOCK
#define UNLOCK
#else
#define LOCK pthread_mutex_lock(&lock);
#define UNLOCK pthread_mutex_unlock(&lock);
#endif

__attribute__((noinline)) static int sum(struct small all) { return all.a + all.b; }

__attribute__((noinline)) static long total(struct large all) { return all.a + all.d; }

THREAD(first) {
    LOCK
    pair.b = 1; // racy
    four.d = 1; // racy
    UNLOCK
    return unused;
}

THREAD(second) {
    LOCK
    int seen = sum(pair); // racy
    seen += total(four); // racy
    UNLOCK
    assert(seen >= 0);
    return unused;
}

int main(void) { RUN(first, second); }
