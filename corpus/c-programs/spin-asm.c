// A spin lock by an atomic exchange in assembly, and a store that frees it.

#include <pthread.h>
#include <assert.h>
typedef volatile unsigned int spinlock_t;
static inline unsigned int xchg(spinlock_t *ptr, unsigned int x)
{
    __asm__ __volatile__("xchgl %0,%1"
                         : "=r"(x)
                         : "m"(*ptr), "0"(x)
                         : "memory");
    return x;
}
static void spin_lock(spinlock_t *l)
{
    while (1) {
        if (!xchg(l, 1)) return;
        while (*l) __asm__ __volatile__("pause" ::: "memory");
    }
}
static void spin_unlock(spinlock_t *l)
{
    __asm__ __volatile__("" ::: "memory");
    *l = 0;
}
static spinlock_t lk = 0;
static int n;
static void *w(void *p) { spin_lock(&lk); n++; spin_unlock(&lk); return p; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, w, 0);
    pthread_create(&b, 0, w, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(n == 2);
    return 0;
}
