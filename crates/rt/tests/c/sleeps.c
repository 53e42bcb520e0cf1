// A thread that sleeps in the hope that another one is done by then, and one that writes to a file.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int done;

static void *works(void *arg)
{
    (void)arg;
    int fd = open("/tmp/weakspot-sleeps", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(write(fd, "x", 1) == 1);
    close(fd);
    unlink("/tmp/weakspot-sleeps");
    done = 1;
    return 0;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, works, 0);
    sleep(1);
    assert(done);
    pthread_join(worker, 0);
    return 0;
}
