// Producer and consumer with a buffer of one cell and two semaphores. With -DBROKEN the producer does
// not wait for the cell to be free, and overwrites what was not consumed.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#define ITEMS 2

static sem_t full, empty;
static int cell;

static void *produce(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++) {
#ifndef BROKEN
        sem_wait(&empty);
#endif
        cell = i;
        sem_post(&full);
    }
    return NULL;
}

static void *consume(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++) {
        sem_wait(&full);
        assert(cell == i);
        sem_post(&empty);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 1);
    pthread_create(&t[0], NULL, produce, NULL);
    pthread_create(&t[1], NULL, consume, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    sem_destroy(&full);
    sem_destroy(&empty);
    return 0;
}
