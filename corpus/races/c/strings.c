// A string under a lock. RACY: it is measured without.

#include "threads.h"

#include <string.h>

static char text[16] = "no";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

THREAD(writer) {
    pthread_mutex_lock(&lock);
    strcpy(text, "yes"); // racy
    pthread_mutex_unlock(&lock);
    return unused;
}

THREAD(reader) {
#ifndef RACY
    pthread_mutex_lock(&lock);
#endif
    size_t len = strlen(text); // racy
#ifndef RACY
    pthread_mutex_unlock(&lock);
#endif
    return len == 7 ? unused : NULL;
}

int main(void) { RUN(writer, reader); }
