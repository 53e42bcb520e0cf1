// One thread reads what the other writes.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static int there[2], back[2];

static void *answers(void *arg)
{
    (void)arg;
    char c;
    assert(read(there[0], &c, 1) == 1 && c == 'a');
    assert(write(back[1], "b", 1) == 1);
    return 0;
}

int main(void)
{
    pthread_t thread;
    char c;
    assert(pipe(there) == 0 && pipe(back) == 0);
    pthread_create(&thread, 0, answers, 0);
    assert(write(there[1], "a", 1) == 1);
    struct pollfd wanted = {back[0], POLLIN, 0};
    assert(poll(&wanted, 1, -1) == 1);
    assert(read(back[0], &c, 1) == 1 && c == 'b');
    assert(poll(0, 0, 1000000) == 0);
    pthread_join(thread, 0);
    return 0;
}
