// Functions of libc read and write what another thread writes at the same time.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define EACH(F) \
    F(0, mempcpy(here, there, 7)) F(1, memrchr(there, 'x', 5)) F(2, (void *)strnlen(there, 3)) \
    F(3, (void *)(long)strcasecmp(there, "X")) F(4, (void *)(long)strncasecmp(there, "XX", 2)) \
    F(5, (void *)strspn(there, "x")) F(6, (void *)strcspn(there, "a")) F(7, strpbrk(there, "a")) \
    F(8, (void *)(long)strtod(there, 0)) F(9, (void *)(long)atof(there)) F(10, (void *)atol(there)) \
    F(11, (void *)strtoll(there, 0, 10)) F(12, localtime_r((time_t *)there, &fields)) \
    F(13, (void *)getrandom(there, 6, 0)) F(14, (void *)readv(file, &part, 1))

static _Alignas(8) char shared[15][16];
static void *volatile result;

static void *reads(void *arg) {
    char here[16];
    struct tm fields;
    int file = open("/dev/zero", O_RDONLY);
    char *there;
#define CALL(I, DO) there = shared[I]; { struct iovec part = {there, 9}; (void)part; result = DO; }
    EACH(CALL)
    close(file);
    return arg;
}

int main(void) {
    pthread_t t;
    for (int i = 0; i < 15; i++) strcpy(shared[i], i == 8 || i == 9 || i == 10 || i == 11 ? "1" : "x");
    pthread_create(&t, 0, reads, 0);
#define STORE(I, DO) shared[I][0]++;
    EACH(STORE)
    pthread_join(t, 0);
    return 0;
}
