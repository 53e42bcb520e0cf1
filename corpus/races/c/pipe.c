// What goes through a pipe comes after what was done before. RACY: it is looked at without.

#include "threads.h"

#include <unistd.h>

static int data, ends[2];

THREAD(writer) {
    data = 42; // racy
    char byte = 1;
    return write(ends[1], &byte, 1) == 1 ? unused : NULL;
}

THREAD(reader) {
#ifdef RACY
    return data == 7 ? unused : NULL; // racy
#else
    char byte = 0;
    if (read(ends[0], &byte, 1) == 1) assert(data == 42);
    return unused;
#endif
}

int main(void) {
    if (pipe(ends)) return 1;
    RUN(writer, reader);
}
