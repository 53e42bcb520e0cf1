// A detached thread, which nobody joins, says by a semaphore that its data is there.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t done;
static int data;

static void *run(void *arg) {
    (void)arg;
    data = 42;
    sem_post(&done);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_attr_t attr;
    sem_init(&done, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&t, &attr, run, NULL);
    pthread_attr_destroy(&attr);
    sem_wait(&done);
    assert(data == 42);
    return 0;
}
