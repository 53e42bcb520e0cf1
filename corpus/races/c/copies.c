// Structures that are copied, and memory that is filled. RACY: the same part at the same time.

#include "threads.h"

#include <string.h>

static struct { int part[8]; } from, to;
static char text[32];

#ifdef RACY
enum { FIRST = 0, SECOND = 4 };
#else
enum { FIRST = 8, SECOND = 8 };
#endif

THREAD(copier) {
    to = from; // racy
    memset(text, 'x', 8); // racy
    return unused;
}

THREAD(writer) {
    if (FIRST < 8) from.part[FIRST] = 1; // racy
    memset(text + SECOND, 'y', 8); // racy
    return unused;
}

int main(void) {
    RUN(copier, writer);
    return to.part[0] + text[5] == 7;
}
