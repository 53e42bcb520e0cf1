// A seqlock, whose reader gives back what it has read as a struct.

#include <stdatomic.h>
#include <pthread.h>
#include <assert.h>
#include <limits.h>
typedef struct { atomic_uint seq; } seqlock_t;
struct point { int x, y; };
static seqlock_t sl;
static volatile struct point shared_pt;
static inline unsigned read_begin(const seqlock_t *s) {
    unsigned v;
    while ((v = atomic_load_explicit(&s->seq, memory_order_acquire)) & 1u) ;
    return v;
}
static inline int read_retry(const seqlock_t *s, unsigned v) {
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&s->seq, memory_order_relaxed) != v;
}
static inline void write_begin(seqlock_t *s) {
    atomic_fetch_add_explicit(&s->seq, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}
static inline void write_end(seqlock_t *s) { atomic_fetch_add_explicit(&s->seq, 1, memory_order_release); }
static struct point get_point(void) {
    struct point p;
    unsigned s;
    do { s = read_begin(&sl); p.x = shared_pt.x; p.y = shared_pt.y; } while (read_retry(&sl, s));
    return p;
}
static void *writer(void *_) {
    for (int i = 1; i <= 2; i++) { write_begin(&sl); shared_pt.x = i; shared_pt.y = i; write_end(&sl); }
    return _;
}
static void *reader(void *_) {
    struct point p = get_point();
    assert(p.x == p.y && p.x <= INT_MAX);
    return _;
}
int main(void) {
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
}
