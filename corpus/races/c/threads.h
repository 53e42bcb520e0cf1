// What these programs have in common: they start some threads and wait for them.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

// NOLINTBEGIN
#define THREAD(name) static void *name(void *unused)
#define RUN(...)                                                                                        \
    do {                                                                                                \
        void *(*const functions[])(void *) = {__VA_ARGS__};                                             \
        enum { N = sizeof functions / sizeof *functions };                                              \
        pthread_t threads[N];                                                                           \
        for (int i = 0; i < N; i++) pthread_create(&threads[i], NULL, functions[i], NULL);              \
        for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);                                     \
    } while (0)

#define load(x, order) atomic_load_explicit(&(x), memory_order_##order)
#define store(x, v, order) atomic_store_explicit(&(x), v, memory_order_##order)
#define add(x, v, order) atomic_fetch_add_explicit(&(x), v, memory_order_##order)
#define fence(order) atomic_thread_fence(memory_order_##order)
// NOLINTEND
