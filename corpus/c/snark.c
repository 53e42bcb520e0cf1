// Snark, the double-ended queue of Detlefs, Flood, Garthwaite, Martin, Shavit and Steele ("Even
// better DCAS-based concurrent deques", 2000). Two hats point at the ends of a doubly linked list. A
// node that points at itself is at the end of an empty queue, as the dummy does.
//
// As published it is wrong even under SC (Doherty and others, "DCAS is not a silver bullet for
// nonblocking algorithm design", 2004). -DFIXED is our repair in their spirit: who finds a node that
// points at itself looks whether it still is at the end, and who has unlinked a node has to claim its
// value.
//
// DCAS compares and swaps two cells at once. Machines lack it today, so it is a lock here, taken by
// compare-and-swap and released by a store, which also protects each load of a cell that it may
// change. The stores to popped nodes that help a garbage collector are left out; nodes are not used
// again.
//
// HARNESS says what the threads do:
//   0  empty at first; one pushes 7 left, pops right; one pops left, pushes 8 right
//   1  {7} at first; one pops right; one pushes 8 right, pops left. The queue is never empty, but as
//      published the first one can be told that it is
//   2  {7, 8} at first; one pops right; one pops left; one pops left, pushes 9 right and pops right.
//      As published a value can be popped twice
//
// TSO is harmless: what others may change is read under the lock only, and a release comes after the
// stores that the lock protects. Under PSO it can overtake them, and another thread sees one half of
// a DCAS or nothing of it. The store-store fence before the release mends that; the one before the
// claim is needed only where an update waits for no more than the stores to its own address.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef HARNESS
#define HARNESS 0
#endif

#ifdef FENCED
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define STORE_FENCE() ((void)0)
#endif

struct node {
    struct node *volatile left;
    struct node *volatile right;
    volatile int value;
};

typedef struct node *volatile cell;

static struct node dummy = {&dummy, &dummy, 0};
static cell left_hat = &dummy;
static cell right_hat = &dummy;
static volatile int taken;

static void lock(void) {
    while (!__sync_bool_compare_and_swap(&taken, 0, 1)) {
    }
}

static void unlock(void) {
    STORE_FENCE();
    taken = 0;
}

static struct node *get(cell *c) {
    lock();
    struct node *node = *c;
    unlock();
    return node;
}

static int dcas(cell *a, cell *b, struct node *old_a, struct node *old_b, struct node *new_a,
                struct node *new_b) {
    lock();
    int same = *a == old_a && *b == old_b;
    if (same) {
        *a = new_a;
        *b = new_b;
    }
    unlock();
    return same;
}

// Takes the value of a node that was unlinked; 0 if somebody else has.
static int take(struct node *node) {
    int value = node->value;
#ifdef FIXED
    STORE_FENCE();
    if (value == 0 || !__sync_bool_compare_and_swap(&node->value, value, 0)) {
        return 0;
    }
#endif
    assert(value != 0);
    return value;
}

static void push_left(int value) {
    struct node *node = malloc(sizeof *node);
    node->left = &dummy;
    node->value = value;
    for (;;) {
        struct node *lh = get(&left_hat);
        struct node *lhl = get(&lh->left);
        if (lhl == lh) {
            node->right = &dummy;
            struct node *rh = get(&right_hat);
            if (dcas(&left_hat, &right_hat, lh, rh, node, node)) {
                return;
            }
        } else {
            node->right = lh;
            if (dcas(&left_hat, &lh->left, lh, lhl, node, node)) {
                return;
            }
        }
    }
}

static void push_right(int value) {
    struct node *node = malloc(sizeof *node);
    node->right = &dummy;
    node->value = value;
    for (;;) {
        struct node *rh = get(&right_hat);
        struct node *rhr = get(&rh->right);
        if (rhr == rh) {
            node->left = &dummy;
            struct node *lh = get(&left_hat);
            if (dcas(&right_hat, &left_hat, rh, lh, node, node)) {
                return;
            }
        } else {
            node->left = rh;
            if (dcas(&right_hat, &rh->right, rh, rhr, node, node)) {
                return;
            }
        }
    }
}

// The leftmost value, or 0 if the queue is empty.
static int pop_left(void) {
    for (;;) {
        struct node *lh = get(&left_hat);
        struct node *rh = get(&right_hat);
        int unlinked;
        if (get(&lh->left) == lh) {
#ifdef FIXED
            if (get(&left_hat) != lh) {
                continue;
            }
#endif
            return 0;
        }
        if (lh == rh) {
            unlinked = dcas(&left_hat, &right_hat, lh, rh, &dummy, &dummy);
        } else {
            struct node *lhr = get(&lh->right);
            unlinked = dcas(&left_hat, &lh->right, lh, lhr, lhr, lh);
        }
        int value = unlinked ? take(lh) : 0;
        if (value != 0) {
            return value;
        }
    }
}

// The rightmost value, or 0 if the queue is empty.
static int pop_right(void) {
    for (;;) {
        struct node *rh = get(&right_hat);
        struct node *lh = get(&left_hat);
        int unlinked;
        if (get(&rh->right) == rh) {
#ifdef FIXED
            if (get(&right_hat) != rh) {
                continue;
            }
#endif
            return 0;
        }
        if (rh == lh) {
            unlinked = dcas(&right_hat, &left_hat, rh, lh, &dummy, &dummy);
        } else {
            struct node *rhl = get(&rh->left);
            unlinked = dcas(&right_hat, &rh->left, rh, rhl, rhl, rh);
        }
        int value = unlinked ? take(rh) : 0;
        if (value != 0) {
            return value;
        }
    }
}

// A value in a sum that says how often each value is in it.
static intptr_t once(int value) {
    return value == 0 ? 0 : (intptr_t)1 << 4 * (value - 7);
}

#if HARNESS == 0
#define THREADS 2
#define ALL 0x11

static void fill(void) {
}

static intptr_t run(intptr_t me) {
    if (me == 0) {
        push_left(7);
        return once(pop_right());
    }
    int value = pop_left();
    push_right(8);
    return once(value);
}
#elif HARNESS == 1
#define THREADS 2
#define ALL 0x11

static void fill(void) {
    push_left(7);
}

static intptr_t run(intptr_t me) {
    if (me == 0) {
        int value = pop_right();
        assert(value != 0);
        return once(value);
    }
    push_right(8);
    return once(pop_left());
}
#else
#define THREADS 3
#define ALL 0x111

static void fill(void) {
    push_left(8);
    push_left(7);
}

static intptr_t run(intptr_t me) {
    if (me == 0) {
        return once(pop_right());
    }
    if (me == 1) {
        return once(pop_left());
    }
    intptr_t values = once(pop_left());
    push_right(9);
    return values + once(pop_right());
}
#endif

static void *start(void *arg) {
    return (void *)run((intptr_t)arg);
}

int main(void) {
    pthread_t t[THREADS];
    intptr_t sum = 0;
    fill();
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, start, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        void *values;
        pthread_join(t[i], &values);
        sum += (intptr_t)values;
    }
    // Not all find the queue empty.
    assert(sum != 0);
    // What was popped and what is left is each value once.
    struct node *node = left_hat;
    if (node->left != node) {
        for (int i = 0; i < 3; i++) {
            sum += once(node->value);
            if (node == right_hat) {
                break;
            }
            node = node->right;
        }
    }
    assert(sum == ALL);
    return 0;
}
