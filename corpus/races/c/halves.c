// A store of eight bytes and a load of four. RACY: of the same eight.

#include "threads.h"

#include <stdint.h>

static union {
    uint64_t whole;
    uint32_t half[2];
} words[2];

#ifdef RACY
enum { OTHER = 0 };
#else
enum { OTHER = 1 };
#endif

THREAD(writer) {
    words[0].whole = UINT64_MAX; // racy
    return unused;
}

THREAD(reader) {
    return words[OTHER].half[1] == 7 ? unused : NULL; // racy
}

int main(void) { RUN(writer, reader); }
