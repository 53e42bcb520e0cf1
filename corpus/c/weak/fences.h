// What the C programs say by macros and orders, in the words of our language. OWN asks for the PSO of
// the papers on monitoring, where orders do not count.
#ifdef FENCED
#define FENCE fence
#define STORE_FENCE fence.ss
#else
#define FENCE
#define STORE_FENCE
#endif
#ifdef OWN
#define RELEASE_STORE(x, v) x = v
#define SEQ_CST_STORE(x, v) swap(x, v)
#else
#define RELEASE_STORE(x, v) fence.ss; x = v
#define SEQ_CST_STORE(x, v) fence.ss; x = v; fence
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
// A mutex of pthreads, which is a full fence in all models.
#define LOCK(m) fence; while (swap(m, 1) == 1) {}; fence
#define UNLOCK(m) fence; swap(m, 0); fence
