// A thread that takes no steps, for ever, in a program that does not wait for it.
#include <pthread.h>

static void *goes_round(void *arg)
{
    (void)arg;
    for (volatile int i = 0;; i++)
        ;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, goes_round, 0);
    return 0;
}
