// Who gets the mutex counts. RACY: who does not get it, too.

#include "threads.h"

static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

THREAD(run) {
    int busy = pthread_mutex_trylock(&lock);
#ifdef RACY
    count++; // racy
#else
    if (!busy) count++;
#endif
    if (!busy) pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) { RUN(run, run); }
