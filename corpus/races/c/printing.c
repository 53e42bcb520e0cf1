// What is printed, scanned and copied is read and written. RACY: without the lock.

#define _GNU_SOURCE
#include "threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[64] = "12 abc 2.5";
static int number;
static char word[16];
static double real;

static int print(char *to, size_t n, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int len = vsnprintf(to, n, format, list);
    va_end(list);
    return len;
}

THREAD(reader) {
    char out[64], part[16], two[2];
    int n, at;
    double d;
#ifndef RACY
    pthread_mutex_lock(&lock);
#endif
    int len = snprintf(out, sizeof out, "%s|%d|%.2s|%*s|%5.1f|%c%%", text, 7, "xyz", 4, "q", 1.25, 'z'); // racy
    int found = sscanf(text, "%d %15s %lf%n", &n, part, &d, &at); // racy
    char *copy = strdup(text); // racy
    int first = atoi(text); // racy
    printf("%s\n", text); // racy
    puts(text); // racy
#ifndef RACY
    pthread_mutex_unlock(&lock);
    assert(len == 29 && !strcmp(out, "12 abc 2.5|7|xy|   q|  1.2|z%"));
    assert(found == 3 && n == 12 && !strcmp(part, "abc") && d == 2.5 && at == 10);
    assert(!strcmp(copy, "12 abc 2.5") && first == 12);
#endif
    free(copy);
    assert(snprintf(out, 4, "%s", "abcdef") == 6 && !strcmp(out, "abc"));
    assert(print(out, 64, "%d %d %d %d %d %d %s %f %Lf %s", 1, 2, 3, 4, 5, 6, "s", 0.5, 1.5L, "t") == 33);
    assert(!strcmp(out, "1 2 3 4 5 6 s 0.500000 1.500000 t"));
    assert(sscanf("ab=cd", "%2c=%[^x]", two, part) == 2 && two[1] == 'b' && !strcmp(part, "cd"));
    assert(sscanf("5 x", "%d %d", &n, &at) == 1 && n == 5);
    return len + found + first == 7 ? unused : NULL;
}

THREAD(writer) {
    pthread_mutex_lock(&lock);
    assert(sscanf("12 abc 2.5", "%d %s %lf", &number, word, &real) == 3);
    snprintf(text, sizeof text, "%d %s %.1f", number, word, real); // racy
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) { RUN(reader, writer); }
