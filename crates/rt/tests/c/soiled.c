// What executions leave in the kernel: handlers of signals, masks, the working folder, descriptors.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile int x;

static void handler(int signal)
{
    (void)signal;
    x++;
}

static void *soils(void *arg)
{
    (void)arg;
    char path[4096];
    sigset_t all, before;
    assert(getcwd(path, sizeof path) && strcmp(path, "/") != 0);
    assert(chdir("/") == 0);
    assert(signal(SIGUSR1, handler) == SIG_DFL);
    raise(SIGUSR1);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    assert(!sigismember(&before, SIGUSR2));
    assert(fcntl(0, F_GETFD) != -1);
    for (int fd = 0; fd < 2000; fd++)
        close(fd);
    assert(fcntl(0, F_GETFD) == -1);
    return 0;
}

static void *counts(void *arg)
{
    (void)arg;
    x++;
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, soils, 0);
    pthread_create(&threads[1], 0, counts, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
