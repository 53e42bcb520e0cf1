// A counter under a mutex. RACY: one thread does without.

#include "threads.h"

static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

THREAD(first) {
    pthread_mutex_lock(&lock);
    count++; // racy
    pthread_mutex_unlock(&lock);
    return unused;
}

THREAD(second) {
#ifdef RACY
    count++; // racy
#else
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void) { RUN(first, second); }
