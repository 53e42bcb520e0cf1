// A condition variable with a flag under a mutex. RACY: there is no flag, and a wake-up promises nothing.

#include "threads.h"

static int data, ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

THREAD(writer) {
    data = 42; // racy
#ifndef RACY
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
#endif
    pthread_cond_signal(&changed);
    return unused;
}

THREAD(reader) {
    pthread_mutex_lock(&lock);
#ifdef RACY
    (void)ready;
    struct timespec soon = {0, 0};
    pthread_cond_timedwait(&changed, &lock, &soon);
#else
    while (!ready) pthread_cond_wait(&changed, &lock);
#endif
    pthread_mutex_unlock(&lock);
    return data == 7 ? unused : NULL; // racy
}

int main(void) { RUN(writer, reader); }
