// What is told to the kernel about signals is put back: executions go on in one process.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int x;

static void handler(int signal)
{
    (void)signal;
    x++;
}

static void *tells(void *arg)
{
    (void)arg;
    sigset_t all, before;
    stack_t stack = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ}, old;
    struct sigaction action = {.sa_handler = handler}, earlier;
    assert(signal(SIGPIPE, SIG_IGN) == SIG_DFL);
    assert(signal(SIGPIPE, handler) == SIG_IGN);
    assert(sigaction(SIGUSR1, &action, &earlier) == 0 && earlier.sa_handler == SIG_DFL);
    raise(SIGUSR1);
    sigemptyset(&all);
    sigaddset(&all, SIGUSR2);
    assert(sigprocmask(SIG_BLOCK, &all, &before) == 0 && !sigismember(&before, SIGUSR2));
    assert(sigaltstack(&stack, &old) == 0 && old.ss_sp != stack.ss_sp);
#ifdef PENDING
    // It would come to the next execution.
    signal(SIGUSR2, handler);
    raise(SIGUSR2);
#endif
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
    printf("process %d\n", getpid());
    pthread_create(&threads[0], 0, tells, 0);
    pthread_create(&threads[1], 0, counts, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
