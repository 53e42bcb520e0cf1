// Two threads initialise something by pthread_once and use it. It is initialised once, and whoever
// comes back from pthread_once sees it.

#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int value, made;

static void make(void) {
    value = 42;
    made++;
}

static void *use(void *arg) {
    (void)arg;
    pthread_once(&once, make);
    assert(value == 42);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, use, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    assert(made == 1);
    return 0;
}
