// Data of threads by pthread_key_create and by _Thread_local. Each thread has its own, which starts
// anew, and the destructor of the key has run for both threads when they are joined.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static pthread_key_t key;
static _Thread_local int own;
static int destroyed;

static void destroy(void *value) {
    __atomic_fetch_add(&destroyed, (int)(intptr_t)value, __ATOMIC_SEQ_CST);
}

static void *run(void *arg) {
    assert(pthread_getspecific(key) == NULL);
    assert(own == 0);
    own = (int)(intptr_t)arg;
    pthread_setspecific(key, arg);
    assert(own == (int)(intptr_t)arg);
    assert(pthread_getspecific(key) == arg);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_key_create(&key, destroy);
    for (intptr_t i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, run, (void *)(i + 1));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    assert(own == 0);
    assert(destroyed == 3);
    pthread_key_delete(key);
    return 0;
}
