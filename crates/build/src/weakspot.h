/* Marks for `weakspot run`. Without weakspot they do nothing. */
#ifndef WEAKSPOT_H
#define WEAKSPOT_H

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void __weakspot_begin(void);
__attribute__((weak)) void __weakspot_end(void);
#ifdef __cplusplus
}
#endif

/* What a thread does between these two is a transaction. They may be nested. */
#define WEAKSPOT_BEGIN() ((void)(__weakspot_begin ? (__weakspot_begin(), 0) : 0))
#define WEAKSPOT_END() ((void)(__weakspot_end ? (__weakspot_end(), 0) : 0))

#endif
