// What threads have registered runs when they end in the middle of their functions.
#include <assert.h>
#include <pthread.h>

static int order, first, second, third, skipped;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void set(void *to)
{
    *(int *)to = ++order;
}

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static __attribute__((noinline)) void inner(void)
{
    pthread_cleanup_push(set, &first);
    pthread_cleanup_push(set, &skipped);
    pthread_cleanup_pop(0);
    pthread_exit((void *)7);
    pthread_cleanup_pop(1);
}

static void *ends(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    pthread_cleanup_push(set, &second);
    inner();
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return 0;
}

static void *runs(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(set, &third);
    pthread_cleanup_pop(1);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    void *value;
    pthread_create(&threads[0], 0, ends, 0);
    pthread_create(&threads[1], 0, runs, 0);
    pthread_join(threads[0], &value);
    assert(value == (void *)7);
    pthread_join(threads[1], 0);
    assert(first && second == first + 1 && third && !skipped && order == 3);
    return 0;
}
