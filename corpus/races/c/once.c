// What is made once. RACY: whoever finds it made does not ask.

#include "threads.h"

static int made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void) { made = 1; } // racy

THREAD(run) {
#ifdef RACY
    if (made) return unused; // racy
#endif
    pthread_once(&once, make);
    assert(made);
    return unused;
}

int main(void) { RUN(run, run); }
