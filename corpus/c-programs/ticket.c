// A ticket lock: numbers are drawn by an atomic addition, and the next one is called by a release
// store. Nothing is left that SC does not do.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct ticket_lock {
    atomic_uint next;
    atomic_uint serving;
};

static struct ticket_lock lock;
static int count;

static void acquire(struct ticket_lock *l) {
    unsigned mine = atomic_fetch_add(&l->next, 1);
    while (atomic_load_explicit(&l->serving, memory_order_acquire) != mine)
        ;
}

static void release(struct ticket_lock *l) {
    unsigned now = atomic_load_explicit(&l->serving, memory_order_relaxed);
    atomic_store_explicit(&l->serving, now + 1, memory_order_release);
}

static void *enter(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        acquire(&lock);
        count++;
        release(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, NULL);
    pthread_create(&b, NULL, enter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 4);
    return 0;
}
