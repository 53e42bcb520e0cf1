// Who waits for a time only may give up before others have done anything.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready, late;

static void *waits(void *arg)
{
    (void)arg;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    // Again and again until it is there: that comes to an end.
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    if (sem_timedwait(&semaphore, &until) != 0) {
        assert(errno == ETIMEDOUT);
        late = 1;
    }
    return 0;
}

int main(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, 0, waits, 0);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    pthread_join(thread, 0);
    struct timespec past = {1, 0};
    sem_trywait(&semaphore);
    assert(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&mutex, &past) == 0);
    assert(late == 0);
    return 0;
}
