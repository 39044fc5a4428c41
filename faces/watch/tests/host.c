/* Loads two libraries, each with a runtime that nothing else in the process sees, and runs regions of both in turn. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **paths) {
    int (*run[2])(void), sum = 0;
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(paths[i + 1], RTLD_NOW | RTLD_LOCAL);
        if (!library || !(run[i] = (int (*)(void))dlsym(library, "run")))
            return puts(dlerror());
    }
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < 2; i++)
            sum += run[i]();
    printf("%d\n", sum);
    return 5;
}
