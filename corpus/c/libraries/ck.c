// Locks, a barrier, a stack and a ring of Concurrency Kit, one of them each, by WHAT. Built by
// scripts/real-library.

#include <ck_barrier.h>
#include <ck_ring.h>
#include <ck_spinlock.h>
#include <ck_stack.h>

#include <assert.h>
#include <pthread.h>

static ck_spinlock_fas_t fas = CK_SPINLOCK_FAS_INITIALIZER;
static ck_spinlock_ticket_t ticket = CK_SPINLOCK_TICKET_INITIALIZER;
static ck_spinlock_mcs_t mcs;
static ck_barrier_centralized_t barrier = CK_BARRIER_CENTRALIZED_INITIALIZER;
static ck_stack_t stack;
static ck_stack_entry_t entries[2];
static ck_ring_t ring;
static ck_ring_buffer_t slots[2];
static int n, arrived[2];

static void *run(void *arg) {
    int me = (int)(long)arg;
    (void)me;
#if WHAT == 0
    ck_spinlock_fas_lock(&fas);
    n++;
    ck_spinlock_fas_unlock(&fas);
#elif WHAT == 1
    ck_spinlock_ticket_lock(&ticket);
    n++;
    ck_spinlock_ticket_unlock(&ticket);
#elif WHAT == 2
    ck_spinlock_mcs_context_t node;
    ck_spinlock_mcs_lock(&mcs, &node);
    n++;
    ck_spinlock_mcs_unlock(&mcs, &node);
#elif WHAT == 3
    ck_barrier_centralized_state_t state = CK_BARRIER_CENTRALIZED_STATE_INITIALIZER;
    arrived[me] = 1;
    ck_barrier_centralized(&barrier, &state, 2);
    assert(arrived[0] && arrived[1]);
#elif WHAT == 4
    ck_stack_push_upmc(&stack, &entries[me]);
    assert(ck_stack_pop_upmc(&stack));
#elif WHAT == 5
    void *got;
    if (me == 0) {
        assert(ck_ring_enqueue_spsc(&ring, slots, &n));
    } else if (ck_ring_dequeue_spsc(&ring, slots, &got)) {
        assert(got == &n);
    }
#endif
    return 0;
}

int main(void) {
    pthread_t threads[2];
    (void)fas, (void)ticket, (void)mcs, (void)barrier, (void)slots, (void)arrived, (void)entries;
    ck_stack_init(&stack);
    ck_ring_init(&ring, 2);
    for (long i = 0; i < 2; i++) {
        pthread_create(&threads[i], 0, run, (void *)i);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
    }
#if WHAT < 3
    assert(n == 2);
#endif
    return 0;
}
