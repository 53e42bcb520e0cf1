// Bit-fields side by side are one memory location. RACY: no lock; otherwise they are apart.

#include "threads.h"

static struct {
    unsigned a : 4;
#ifndef RACY
    unsigned : 0;
#endif
    unsigned b : 4;
} bits;

THREAD(first) {
    bits.a = 1; // racy
    return unused;
}

THREAD(second) {
    bits.b = 1; // racy
    return unused;
}

int main(void) {
    RUN(first, second);
    return bits.a + bits.b == 7;
}
