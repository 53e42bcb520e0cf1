// A detached thread posts when it is done. RACY: main waits for a relaxed flag instead.

#include "threads.h"

#include <semaphore.h>

static int result;
static sem_t done;
static atomic_int flag;

THREAD(run) {
    result = 1; // racy
#ifdef RACY
    store(flag, 1, relaxed);
#else
    sem_post(&done);
#endif
    return unused;
}

int main(void) {
    sem_init(&done, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_detach(thread);
#ifdef RACY
    while (!load(flag, relaxed)) {}
#else
    sem_wait(&done);
#endif
    return result - 1; // racy
}
