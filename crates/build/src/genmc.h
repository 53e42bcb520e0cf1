/* Functions of other checkers that `weakspot run` knows: those of SV-COMP, Nidhugg and GenMC. */
#ifndef WEAKSPOT_GENMC_H
#define WEAKSPOT_GENMC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* There is no execution in which this is 0: it ends without a word. */
void __VERIFIER_assume(int);

/* Fail. */
void __VERIFIER_assert(int);
void __VERIFIER_error(void);

/* What is between these two is not interleaved with what is between two others. */
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

/* 0 or 1: both are explored. Others cannot be. */
int __VERIFIER_nondet_bool(void);
int __VERIFIER_nondet_int(void);
unsigned __VERIFIER_nondet_uint(void);

/* Hints about loops, which are not needed here. */
void __VERIFIER_loop_begin(void);
void __VERIFIER_loop_bound(int);
void __VERIFIER_spin_start();
void __VERIFIER_spin_end();

/* One of the two ways to go on is explored: to end here after `x`, or to go on without it. */
int __VERIFIER_opt_begin(void);
#define __VERIFIER_optional(x)     \
  do {                             \
    if (__VERIFIER_opt_begin()) {  \
      x;                           \
      __VERIFIER_assume(0);        \
    }                              \
  } while (0)

/* Hints about single accesses, which are not needed here: the access is done, and nothing is taken for granted. */
#define __VERIFIER_local_write(access) do { access; } while (0)
#define __VERIFIER_final_write(access) do { access; } while (0)
#define __VERIFIER_helped_CAS(access) do { access; } while (0)
#define __VERIFIER_helping_CAS(access) do { access; } while (0)
#define __VERIFIER_speculative_read(access) (access)
#define __VERIFIER_confirming_read(access) (access)
#define __VERIFIER_confirming_CAS(access) (access)
#define __VERIFIER_final_CAS(access) (access)

/* Threads; that some are symmetric is not made use of. */
typedef pthread_t __VERIFIER_thread_t;
static inline __VERIFIER_thread_t __VERIFIER_spawn(void *(*start)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, start, argument))
    abort();
  return thread;
}
static inline __VERIFIER_thread_t __VERIFIER_spawn_symmetric(void *(*start)(void *), void *argument,
                                                             __VERIFIER_thread_t like) {
  (void)like;
  return __VERIFIER_spawn(start, argument);
}
static inline void *__VERIFIER_join(__VERIFIER_thread_t thread) {
  void *result = NULL;
  pthread_join(thread, &result);
  return result;
}
static inline void __VERIFIER_join_symmetric(__VERIFIER_thread_t thread) {
  __VERIFIER_join(thread);
}

/* Hazard pointers: what is retired is not freed before the execution ends, so that it is always there for those who have
 * protected it. That somebody uses it without that is not found. */
typedef struct __VERIFIER_hp {
  void *pointer;
} __VERIFIER_hp_t;
static inline __VERIFIER_hp_t *__VERIFIER_hp_alloc(void) {
  __VERIFIER_hp_t *hp = (__VERIFIER_hp_t *)malloc(sizeof(__VERIFIER_hp_t));
  if (!hp)
    abort();
  hp->pointer = NULL;
  return hp;
}
static inline void *__VERIFIER_hp_protect_pointer(__VERIFIER_hp_t *hp, void **place) {
  hp->pointer = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  return hp->pointer;
}
#define __VERIFIER_hp_protect(hp, place) __VERIFIER_hp_protect_pointer(hp, (void **)(place))
static inline void __VERIFIER_hp_clear(__VERIFIER_hp_t *hp) {
  hp->pointer = NULL;
}
static inline void __VERIFIER_hp_free(__VERIFIER_hp_t *hp) {
  free(hp);
}
static inline void __VERIFIER_hp_retire(void *pointer) {
  (void)pointer;
}

/* A lock. */
typedef struct __VERIFIER_plock {
  pthread_mutex_t lock;
} __VERIFIER_plock_t;
static inline int __VERIFIER_plock_lock(__VERIFIER_plock_t *plock) {
  return pthread_mutex_lock(&plock->lock);
}
static inline int __VERIFIER_plock_unlock(__VERIFIER_plock_t *plock) {
  return pthread_mutex_unlock(&plock->lock);
}

#ifdef __cplusplus
}
#endif

#endif
