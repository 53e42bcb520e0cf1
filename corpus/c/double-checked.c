// Double-checked locking: who finds the object made takes no lock; who does not takes it, looks again
// and makes the object. Both threads use it.
//
// TSO is harmless. Under PSO the pointer can be in memory before the fields of the object, and who
// takes no lock reads nonsense. A store-store fence before the pointer is stored mends that.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

struct object {
    volatile int a, b;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct object *volatile object;
static int made;

static struct object *get(void) {
    struct object *o = object;
    if (o == NULL) {
        pthread_mutex_lock(&mutex);
        o = object;
        if (o == NULL) {
            o = malloc(sizeof *o);
            o->a = 1;
            o->b = 2;
            STORE_FENCE();
            object = o;
            made++;
        }
        pthread_mutex_unlock(&mutex);
    }
    return o;
}

static void *use(void *arg) {
    (void)arg;
    struct object *o = get();
    assert(o->a == 1);
    assert(o->b == 2);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, use, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    assert(made == 1);
    return 0;
}
