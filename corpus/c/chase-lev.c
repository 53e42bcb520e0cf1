// The work-stealing queue of Chase and Lev ("Dynamic circular work-stealing deque", 2005), with an
// array that is large enough. The owner pushes the tasks 1 and 2 and takes twice, at the bottom; the
// thief tries to steal twice, at the top. Each task has to be taken once.
//
// Under TSO and PSO the owner can read `top` before its store to `bottom` is in memory. It takes the
// last task without an atomic update while the thief steals it, too. Under PSO `bottom` can also
// overtake the task that was pushed, and the thief gets garbage.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifdef FENCED
#define FENCE() __sync_synchronize()
#define STORE_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#else
#define FENCE() ((void)0)
#define STORE_FENCE() ((void)0)
#endif

static volatile int top, bottom;
static volatile int task[2];

static void push(int value) {
    int b = bottom;
    task[b] = value;
    STORE_FENCE();
    bottom = b + 1;
}

// A task, or 0 if there is none.
static int take(void) {
    int b = bottom - 1;
    bottom = b;
    FENCE();
    int t = top;
    if (t > b) {
        bottom = t;
        return 0;
    }
    int value = task[b];
    if (t == b) {
        if (!__sync_bool_compare_and_swap(&top, t, t + 1)) {
            value = 0;
        }
        bottom = t + 1;
    }
    return value;
}

// A task, or 0 if there is none or somebody else was faster.
static int steal(void) {
    int t = top;
    int b = bottom;
    if (t >= b) {
        return 0;
    }
    int value = task[t];
    if (!__sync_bool_compare_and_swap(&top, t, t + 1)) {
        return 0;
    }
    assert(value != 0);
    return value;
}

static void *own(void *arg) {
    (void)arg;
    push(1);
    push(2);
    int sum = take();
    sum += take();
    return (void *)(intptr_t)sum;
}

static void *thieve(void *arg) {
    (void)arg;
    int sum = steal();
    sum += steal();
    return (void *)(intptr_t)sum;
}

int main(void) {
    pthread_t t[2];
    void *a, *b;
    pthread_create(&t[0], NULL, own, NULL);
    pthread_create(&t[1], NULL, thieve, NULL);
    pthread_join(t[0], &a);
    pthread_join(t[1], &b);
    assert((intptr_t)a + (intptr_t)b == 3);
    return 0;
}
