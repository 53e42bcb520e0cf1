// Four locks for two threads whose loops go round a few times only, each access an atomic operation.
// ORDER is their order. Other tools that explore one execution of each class have been run on
// programs with the same accesses.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef ORDER
#define ORDER memory_order_seq_cst
#endif
#define get(a) atomic_load_explicit(&(a), ORDER)
#define set(a, value) atomic_store_explicit(&(a), value, ORDER)

static atomic_int flag[2], turn, ticket[2], inside;

// Goes round until the condition holds, but not for long; then the thread gives up.
#define AWAIT(rounds, condition)                 \
    for (int i = 0;; i++) {                      \
        if (i == (rounds)) {                     \
            return NULL;                         \
        }                                        \
        if (condition) {                         \
            break;                               \
        }                                        \
    }

static void critical(int me) {
    set(inside, me + 1);
    assert(get(inside) == me + 1);
}

static void *dekker(void *arg) {
    int me = arg != NULL, other = 1 - me;
    for (int round = 0; round < 2; round++) {
        set(flag[me], 1);
        int free = 0;
        for (int i = 0; i < 2; i++) {
            if (!get(flag[other])) {
                free = 1;
                break;
            }
            if (get(turn) != me) {
                set(flag[me], 0);
                AWAIT(2, get(turn) == me);
                set(flag[me], 1);
            }
        }
        if (!free) {
            return NULL;
        }
        critical(me);
        set(turn, other);
        set(flag[me], 0);
    }
    return NULL;
}

static int others_turn(int me) {
    int wants = get(flag[1 - me]);
    return (get(turn) == 1 - me) & wants;
}

static void *peterson(void *arg) {
    int me = arg != NULL;
    for (int round = 0; round < 2; round++) {
        set(flag[me], 1);
        set(turn, 1 - me);
        AWAIT(2, !others_turn(me));
        critical(me);
        set(flag[me], 0);
    }
    return NULL;
}

static void *szymanski(void *arg) {
    int me = arg != NULL, other = 1 - me;
    for (int round = 0; round < 2; round++) {
        set(flag[me], 1);
        AWAIT(2, get(flag[other]) < 3);
        set(flag[me], 3);
        if (get(flag[other]) == 1) {
            set(flag[me], 2);
            AWAIT(2, get(flag[other]) == 4);
        }
        set(flag[me], 4);
        AWAIT(2, get(flag[other]) < 2);
        critical(me);
        AWAIT(2, get(flag[other]) < 2 || get(flag[other]) > 3);
        set(flag[me], 0);
    }
    return NULL;
}

static int before_me(int other, int me) {
    int theirs = get(ticket[other]);
    int mine = get(ticket[me]);
    return theirs != 0 && (theirs < mine || (theirs == mine && other < me));
}

static void *bakery(void *arg) {
    int me = arg != NULL, most = 0;
    set(flag[me], 1);
    for (int other = 0; other < 2; other++) {
        int theirs = get(ticket[other]);
        most = theirs > most ? theirs : most;
    }
    set(ticket[me], most + 1);
    set(flag[me], 0);
    for (int other = 0; other < 2; other++) {
        AWAIT(5, !get(flag[other]));
        AWAIT(5, !before_me(other, me));
    }
    assert(get(inside) == 0);
    set(inside, me);
    set(inside, 0);
    set(ticket[me], 0);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, LOCK, NULL);
    pthread_create(&threads[1], NULL, LOCK, &threads);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
