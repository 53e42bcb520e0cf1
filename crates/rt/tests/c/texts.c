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
    F(13, (void *)getrandom(there, 6, 0)) F(14, (void *)readv(file, &part, 1)) \
    F(15, (void *)(long)memcmp(other, there, 4)) F(16, strncpy(there, other, 8)) F(17, memcpy(other, there, twelve)) \
    F(18, strndup(there, 1)) F(19, (void *)write(nowhere, there, 3)) F(20, (void *)writev(nowhere, &part, 1))

#define ALL 21
static _Alignas(8) char shared[ALL][16];
static char other[16] = "xy";
static volatile size_t twelve = 12;
static void *volatile result;

static void *reads(void *arg) {
    char here[16];
    struct tm fields;
    int file = open("/dev/zero", O_RDONLY), nowhere = open("/dev/null", O_WRONLY);
    char *there;
#define CALL(I, DO) there = shared[I]; { struct iovec part = {there, 9}; (void)part; result = DO; }
    EACH(CALL)
    close(file);
    close(nowhere);
    return arg;
}

int main(void) {
    pthread_t t;
    for (int i = 0; i < ALL; i++) strcpy(shared[i], i == 8 || i == 9 || i == 10 || i == 11 ? "1" : "x");
    pthread_create(&t, 0, reads, 0);
#define STORE(I, DO) shared[I][0]++;
    EACH(STORE)
    pthread_join(t, 0);
    return 0;
}
