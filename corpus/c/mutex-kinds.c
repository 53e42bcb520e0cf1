// What the kinds of mutexes do: a recursive one can be taken again, one that checks errors says that
// its owner has it already or that it is not yours, and trying does not wait. A second thread adds to
// a counter under the recursive one, another adds if trying succeeds.

#define _XOPEN_SOURCE 700
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t recursive, checking;
static int count;

static void init(pthread_mutex_t *mutex, int kind) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, kind);
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void *twice(void *arg) {
    (void)arg;
    int error = pthread_mutex_lock(&recursive);
    assert(error == 0);
    error = pthread_mutex_lock(&recursive);
    assert(error == 0);
    int c = count;
    pthread_mutex_unlock(&recursive);
    count = c + 1;
    pthread_mutex_unlock(&recursive);

    pthread_mutex_lock(&checking);
    error = pthread_mutex_lock(&checking);
    assert(error == EDEADLK);
    pthread_mutex_unlock(&checking);
    error = pthread_mutex_unlock(&checking);
    assert(error == EPERM);
    return NULL;
}

static void *try(void *arg) {
    (void)arg;
    int error = pthread_mutex_trylock(&recursive);
    if (error == 0) {
        count = count + 1;
        pthread_mutex_unlock(&recursive);
        return NULL;
    }
    assert(error == EBUSY);
    return &count;
}

int main(void) {
    pthread_t t[2];
    void *busy;
    init(&recursive, PTHREAD_MUTEX_RECURSIVE);
    init(&checking, PTHREAD_MUTEX_ERRORCHECK);
    pthread_create(&t[0], NULL, twice, NULL);
    pthread_create(&t[1], NULL, try, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], &busy);
    assert(count == (busy == NULL ? 2 : 1));
    return 0;
}
