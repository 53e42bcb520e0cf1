// Two threads in phases: each writes its cell, waits at a barrier, reads the cell of the other, and
// waits again before the next phase. With -DBROKEN the second wait is missing, and a thread can
// overwrite its cell before the other one has read it.

#define _XOPEN_SOURCE 700
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#define PHASES 2

static pthread_barrier_t barrier;
static volatile int cell[2];

static void *run(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int phase = 1; phase <= PHASES; phase++) {
        cell[me] = phase;
        pthread_barrier_wait(&barrier);
        assert(cell[1 - me] == phase);
#ifndef BROKEN
        pthread_barrier_wait(&barrier);
#endif
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (intptr_t i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, run, (void *)i);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
    return 0;
}
