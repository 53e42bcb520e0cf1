// The result of a thread. RACY: it is looked at before the thread is joined.

#include "threads.h"

static int result;

THREAD(run) {
    result = 1; // racy
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
#ifdef RACY
    int early = result; // racy
    pthread_join(thread, NULL);
    return early > 1;
#else
    pthread_join(thread, NULL);
    return result - 1;
#endif
}
