// Libraries with variables of threads are loaded by a thread: glibc makes its table of them larger,
// which the library has allocated for it.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define COUNT 30

static void *body(void *arg) {
    int *(*get[COUNT])(void);
    for (int i = 0; i < COUNT; i++) {
        char name[200];
        snprintf(name, sizeof name, "%s/plugin%d.so", FOLDER, i);
        void *plugin = dlopen(name, RTLD_NOW);
        assert(plugin != NULL);
        *(void **)&get[i] = dlsym(plugin, "get");
        assert(get[i] != NULL);
        *get[i]() = i + 1;
    }
    for (int i = 0; i < COUNT; i++) {
        assert(*get[i]() == i + 1);
    }
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
}
