// The sorted list of Harris ("A pragmatic implementation of non-blocking linked-lists", 2001), a set
// without locks. The lowest bit of `next` says that the node itself is deleted. All operations start
// with the same search, which goes to the first node that is not deleted and has at least the wanted
// key, and unlinks the deleted ones before it.
//
// The set is {1} at first. One thread inserts 2 and one deletes 1; with -DLOOKUP a third one looks
// for 2. Nodes are not used again.
//
// All links are made by atomic updates. Where an update waits for all stores of its thread nothing
// breaks. Where it waits only for those to its own address, which is the PSO of the papers on
// monitoring, the new node is linked before its `key` and `next` are in memory: a search finds a list
// that is not sorted or ends in nothing. A store-store fence before the node is linked mends that.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

#define CAS(p, old, new) __sync_bool_compare_and_swap(p, old, new)

struct node {
    volatile int key;
    volatile uintptr_t next;
};

static struct node tail = {9, 0};
static struct node one = {1, (uintptr_t)&tail};
static struct node head = {0, (uintptr_t)&one};

static int deleted(uintptr_t next) {
    return next & 1;
}

// The first node with at least this key that is not deleted, and the one before it.
static struct node *search(int key, struct node **left) {
    for (;;) {
        struct node *node = &head;
        uintptr_t next = node->next;
        uintptr_t left_next = next;
        do {
            if (!deleted(next)) {
                *left = node;
                left_next = next;
            }
            node = (struct node *)(next & ~(uintptr_t)1);
            assert(node != NULL);
            if (node == &tail) {
                break;
            }
            next = node->next;
        } while (deleted(next) || node->key < key);
        if (left_next == (uintptr_t)node || CAS(&(*left)->next, left_next, (uintptr_t)node)) {
            if (node == &tail || !deleted(node->next)) {
                return node;
            }
        }
    }
}

static int insert(int key) {
    struct node *node = malloc(sizeof *node);
    node->key = key;
    for (;;) {
        struct node *left;
        struct node *right = search(key, &left);
        if (right != &tail && right->key == key) {
            return 0;
        }
        node->next = (uintptr_t)right;
        STORE_FENCE();
        if (CAS(&left->next, (uintptr_t)right, (uintptr_t)node)) {
            return 1;
        }
    }
}

static int delete(int key) {
    for (;;) {
        struct node *left;
        struct node *right = search(key, &left);
        if (right == &tail || right->key != key) {
            return 0;
        }
        uintptr_t next = right->next;
        if (!deleted(next) && CAS(&right->next, next, next | 1)) {
            if (!CAS(&left->next, (uintptr_t)right, next)) {
                (void)search(key, &left);
            }
            return 1;
        }
    }
}

static void *insert_two(void *arg) {
    (void)arg;
    int inserted = insert(2);
    assert(inserted);
    return NULL;
}

static void *delete_one(void *arg) {
    (void)arg;
    int found = delete(1);
    assert(found);
    return NULL;
}

#ifdef LOOKUP
static void *look_for_two(void *arg) {
    (void)arg;
    struct node *left;
    struct node *right = search(2, &left);
    if (right != &tail) {
        // The set never has anything between 2 and the end.
        assert(right->key == 2);
    }
    return NULL;
}
#endif

int main(void) {
    pthread_t t[3];
    int n = 0;
    pthread_create(&t[n++], NULL, insert_two, NULL);
    pthread_create(&t[n++], NULL, delete_one, NULL);
#ifdef LOOKUP
    pthread_create(&t[n++], NULL, look_for_two, NULL);
#endif
    while (n > 0) {
        pthread_join(t[--n], NULL);
    }
    // The set is {2}.
    struct node *first = (struct node *)head.next;
    assert(first != NULL && first->key == 2);
    assert(first->next == (uintptr_t)&tail);
    return 0;
}
