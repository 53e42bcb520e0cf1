// Dining philosophers (Dijkstra, 1965): each takes the fork on the left, then the one on the right,
// and eats. If all have taken the left one they wait for ever. With -DORDERED the last one takes the
// right one first.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static pthread_mutex_t fork_[N];
static int meals[N];

static void *dine(void *arg) {
    int me = (int)(intptr_t)arg;
    int first = me;
    int second = (me + 1) % N;
#ifdef ORDERED
    if (second < first) {
        first = second;
        second = me;
    }
#endif
    pthread_mutex_lock(&fork_[first]);
    pthread_mutex_lock(&fork_[second]);
    meals[me]++;
    pthread_mutex_unlock(&fork_[second]);
    pthread_mutex_unlock(&fork_[first]);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++) {
        pthread_mutex_init(&fork_[i], NULL);
    }
    for (intptr_t i = 0; i < N; i++) {
        pthread_create(&t[i], NULL, dine, (void *)i);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        assert(meals[i] == 1);
    }
    return 0;
}
