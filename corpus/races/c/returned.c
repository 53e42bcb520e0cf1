// Structures that a call returns into shared memory, in registers and by address, under a mutex. RACY: without.

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

__attribute__((noinline)) static struct small made(int value) {
    struct small made = {value, value};
    return made;
}

__attribute__((noinline)) static struct large filled(long value) {
    struct large made = {value, value, value, value}; // racy
    return made; // racy
}

THREAD(first) {
    LOCK
    pair = made(1); // racy
    four = filled(1); // racy
    UNLOCK
    return unused;
}

THREAD(second) {
    LOCK
    assert(pair.a >= 0); // racy
    assert(four.d >= 0); // racy
    UNLOCK
    return unused;
}

int main(void) { RUN(first, second); }
