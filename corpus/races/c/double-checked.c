// Double-checked locking. RACY: the first look at the pointer is a plain one.

#include "threads.h"

#ifdef RACY
static int *made;
#define look() made
#define publish(p) (made = (p))
#else
static _Atomic(int *) made;
#define look() load(made, acquire)
#define publish(p) store(made, p, release)
#endif
static int object;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

THREAD(run) {
    int *p = look(); // racy
    if (!p) {
        pthread_mutex_lock(&lock);
        p = look();
        if (!p) {
            object = 42; // racy
            p = &object;
            publish(p); // racy
        }
        pthread_mutex_unlock(&lock);
    }
    assert(*p == 42); // racy
    return unused;
}

int main(void) { RUN(run, run); }
