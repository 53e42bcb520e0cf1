// A counter under a mutex. RACY: each thread takes another one.

#include "threads.h"

static int count;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
#ifdef RACY
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
#else
#define other one
#endif

THREAD(first) {
    pthread_mutex_lock(&one);
    count += 1; // racy
    pthread_mutex_unlock(&one);
    return unused;
}

THREAD(second) {
    pthread_mutex_lock(&other);
    count += 2; // racy
    pthread_mutex_unlock(&other);
    return unused;
}

int main(void) { RUN(first, second); }
