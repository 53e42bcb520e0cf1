// Mutexes of threads.h. RACY: one thread does without.

#include "threads.h"

#include <threads.h>

static int count;
static mtx_t lock;

static int first(void *unused) {
    mtx_lock(&lock);
    count++; // racy
    mtx_unlock(&lock);
    return unused != NULL;
}

static int second(void *unused) {
#ifndef RACY
    mtx_lock(&lock);
#endif
    count++; // racy
#ifndef RACY
    mtx_unlock(&lock);
#endif
    return unused != NULL;
}

int main(void) {
    mtx_init(&lock, mtx_plain);
    thrd_t a, b;
    thrd_create(&a, first, NULL);
    thrd_create(&b, second, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    mtx_destroy(&lock);
}
