// A CLH lock with the compiler's atomics: each thread has its nodes for itself, and takes over that of who
// was before it.

#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
struct qnode { volatile int locked; };
struct clh_lock { struct qnode *tail; };
static __thread struct qnode *my_node, *my_pred;
static struct clh_lock lk;
static int total;
static void clh_init(struct clh_lock *l) {
    struct qnode *n = malloc(sizeof *n);
    n->locked = 0;
    l->tail = n;
}
static void clh_thread_init(void) { my_node = calloc(1, sizeof(struct qnode)); my_pred = NULL; }
static void clh_acquire(struct clh_lock *l) {
    my_node->locked = 1;
    my_pred = __atomic_exchange_n(&l->tail, my_node, __ATOMIC_ACQ_REL);
    while (my_pred->locked)
        ;
}
static void clh_release(void) {
    struct qnode *pred = my_pred;
    __atomic_store_n(&my_node->locked, 0, __ATOMIC_RELEASE);
    my_node = pred;
}
static void *w(void *x) {
    clh_thread_init();
    for (int i = 0; i < 2; i++) { clh_acquire(&lk); total++; clh_release(); }
    return x;
}
int main(void) {
    pthread_t t1, t2;
    clh_init(&lk);
    pthread_create(&t1, NULL, w, NULL);
    pthread_create(&t2, NULL, w, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(total == 4);
    return 0;
}
