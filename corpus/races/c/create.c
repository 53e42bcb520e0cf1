// What a thread gets. RACY: it is written when the thread runs already.

#include "threads.h"

static int input;

THREAD(run) {
    return input == 7 ? unused : NULL; // racy
}

int main(void) {
    pthread_t thread;
#ifdef RACY
    pthread_create(&thread, NULL, run, NULL);
    input = 1; // racy
#else
    input = 1;
    pthread_create(&thread, NULL, run, NULL);
#endif
    pthread_join(thread, NULL);
}
