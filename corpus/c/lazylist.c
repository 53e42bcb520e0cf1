// The lazy list of Heller, Herlihy, Luchangco, Moir, Scherer and Shavit ("A lazy concurrent
// list-based set algorithm", 2005): a sorted list with a lock in each node, taken by
// compare-and-swap, released by a store. A thread that adds or removes walks without locks, locks two
// neighbours and checks that they still are neighbours and not removed; `marked` says that a node is
// removed and comes before unlinking. A thread that looks takes no lock.
//
// The set is {1} at first. One thread adds 2 and one removes 1; with -DLOOKUP a third one looks for
// 2. Nodes are not used again.
//
// TSO is harmless: stores become visible in their order, and a thread that has changed something then
// reads only what its locks protect. Under PSO the new node can be linked before its `key` and `next`
// are in memory, and a lock can be released before what it protects is in memory.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

struct node {
    volatile int key;
    volatile int marked;
    volatile int taken;
    struct node *volatile next;
};

static struct node tail = {9, 0, 0, NULL};
static struct node one = {1, 0, 0, &tail};
static struct node head = {0, 0, 0, &one};

static void lock(struct node *node) {
    while (!__sync_bool_compare_and_swap(&node->taken, 0, 1)) {
    }
}

static void unlock(struct node *node) {
    STORE_FENCE();
    node->taken = 0;
}

// The first node with at least this key and the one before it, both locked.
static struct node *locate(int key, struct node **before) {
    for (;;) {
        struct node *pred = &head;
        struct node *curr = pred->next;
        while (curr->key < key) {
            pred = curr;
            curr = curr->next;
            assert(curr != NULL);
        }
        lock(pred);
        lock(curr);
        if (!pred->marked && !curr->marked && pred->next == curr) {
            *before = pred;
            return curr;
        }
        unlock(curr);
        unlock(pred);
    }
}

static int add(int key) {
    struct node *pred;
    struct node *curr = locate(key, &pred);
    int absent = curr->key != key;
    if (absent) {
        struct node *node = malloc(sizeof *node);
        node->key = key;
        node->marked = 0;
        node->taken = 0;
        node->next = curr;
        STORE_FENCE();
        pred->next = node;
    }
    unlock(curr);
    unlock(pred);
    return absent;
}

static int drop(int key) {
    struct node *pred;
    struct node *curr = locate(key, &pred);
    int present = curr->key == key;
    if (present) {
        curr->marked = 1;
        STORE_FENCE();
        pred->next = curr->next;
    }
    unlock(curr);
    unlock(pred);
    return present;
}

static void *add_two(void *arg) {
    (void)arg;
    int added = add(2);
    assert(added);
    return NULL;
}

static void *drop_one(void *arg) {
    (void)arg;
    int dropped = drop(1);
    assert(dropped);
    return NULL;
}

#ifdef LOOKUP
static void *look_for_two(void *arg) {
    (void)arg;
    struct node *curr = &head;
    int key = curr->key;
    while (key < 2) {
        int last = key;
        curr = curr->next;
        assert(curr != NULL);
        key = curr->key;
        assert(key > last);
    }
    return (void *)(size_t)(key == 2 && !curr->marked);
}
#endif

int main(void) {
    pthread_t t[3];
    int n = 0;
    pthread_create(&t[n++], NULL, add_two, NULL);
    pthread_create(&t[n++], NULL, drop_one, NULL);
#ifdef LOOKUP
    pthread_create(&t[n++], NULL, look_for_two, NULL);
#endif
    while (n > 0) {
        pthread_join(t[--n], NULL);
    }
    // The set is {2}.
    struct node *first = head.next;
    assert(first != NULL && first->key == 2 && !first->marked);
    assert(first->next == &tail);
    return 0;
}
