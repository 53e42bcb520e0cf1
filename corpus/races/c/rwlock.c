// Readers and a writer. RACY: the writer takes the lock as a reader.

#include "threads.h"

static int value;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

THREAD(writer) {
#ifdef RACY
    pthread_rwlock_rdlock(&lock);
#else
    pthread_rwlock_wrlock(&lock);
#endif
    value++; // racy
    pthread_rwlock_unlock(&lock);
    return unused;
}

THREAD(reader) {
    pthread_rwlock_rdlock(&lock);
    assert(value < 2); // racy
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void) { RUN(writer, reader, reader); }
