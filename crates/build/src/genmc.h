/* Functions of other checkers that `weakspot run` knows: those of SV-COMP, Nidhugg and GenMC. */
#ifndef WEAKSPOT_GENMC_H
#define WEAKSPOT_GENMC_H

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

#ifdef __cplusplus
}
#endif

#endif
