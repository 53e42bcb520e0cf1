// A node on the heap is published. RACY: with a relaxed store.

#include "threads.h"

struct node { int value; };
static _Atomic(struct node *) head;

THREAD(writer) {
    struct node *node = malloc(sizeof *node);
    node->value = 42; // racy
#ifdef RACY
    store(head, node, relaxed);
#else
    store(head, node, release);
#endif
    return unused;
}

THREAD(reader) {
    struct node *node = load(head, acquire);
    if (node) assert(node->value == 42); // racy
    return unused;
}

int main(void) { RUN(writer, reader); }
