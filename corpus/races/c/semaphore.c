// A semaphore says when the data is there. RACY: the reader does not wait.

#include "threads.h"

#include <semaphore.h>

static int data;
static sem_t full;

THREAD(writer) {
    data = 42; // racy
    sem_post(&full);
    return unused;
}

THREAD(reader) {
#ifndef RACY
    sem_wait(&full);
    assert(data == 42);
#endif
    return data == 7 ? unused : NULL; // racy
}

int main(void) {
    sem_init(&full, 0, 0);
    RUN(writer, reader);
}
