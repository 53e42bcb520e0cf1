// Two bytes side by side are two memory locations. RACY: both threads write the same one.

#include "threads.h"

static char bytes[2];

#ifdef RACY
enum { OTHER = 0 };
#else
enum { OTHER = 1 };
#endif

THREAD(first) {
    bytes[0] = 1; // racy
    return unused;
}

THREAD(second) {
    bytes[OTHER] = 2; // racy
    return unused;
}

int main(void) {
    RUN(first, second);
    return bytes[0] + bytes[1] == 7;
}
