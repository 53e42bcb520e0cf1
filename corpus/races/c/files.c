// Bytes that go through descriptors and files. RACY: the same are read from one and written to another.

#include "threads.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static char shared[8] = "hello";

THREAD(sender) {
    ssize_t n = write(ends[1], shared, 5); // racy
    assert(n == 5);
    return unused;
}

THREAD(receiver) {
#ifdef RACY
    ssize_t n = read(ends[0], shared, 2); // racy
    assert(n == 2);
#else
    char mine[8] = "";
    ssize_t n = read(ends[0], mine, 5);
    assert(n == 5 && !strcmp(mine, "hello"));
    strcpy(shared, "done");
#endif
    return unused;
}

static void through_a_file(void) {
    FILE *file = tmpfile();
    char line[16];
    assert(file && fwrite("abc\ndef", 1, 7, file) == 7);
    rewind(file);
    assert(fgets(line, sizeof line, file) == line && !strcmp(line, "abc\n"));
    assert(fread(line, 1, 8, file) == 3 && !memcmp(line, "def", 3));
    assert(!fgets(line, sizeof line, file));
    fclose(file);
}

int main(void) {
    if (pipe(ends)) return 1;
#ifdef RACY
    if (write(ends[1], "ab", 2) != 2) return 1;
#endif
    RUN(sender, receiver);
    through_a_file();
}
