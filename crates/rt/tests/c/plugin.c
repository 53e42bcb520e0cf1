// A library with variables of threads, see plugins.c.

static _Thread_local int value[100];

int *get(void) { return value; }
