// A library that was built for Clang's or Intel's OpenMP runtime and names no versions, as MKL's do, beside one of
// the GNU compiler; a program loads both, as an interpreter does. Built three times: BARE, GNU, and the program,
// which says how many of its regions were right. `.ci/openmp` links BARE against a stub named libomp.so.5.
#include <stdio.h>

#if defined(BARE)
typedef struct {
    int reserved, flags, more, length;
    const char *place;
} ident;

extern int omp_get_thread_num(void), omp_get_num_threads(void), omp_get_level(void), omp_in_parallel(void);
extern int omp_get_ancestor_thread_num(int), omp_get_team_size(int);
extern void omp_set_num_threads(int);
extern void __kmpc_fork_call(ident *, int, void (*)(int *, int *, ...), ...);

static void body(int *global, int *bound, int *seen) {
    int rank = omp_get_thread_num(), level = omp_get_level();
    int same = omp_get_num_threads() == 4 && omp_in_parallel() && omp_get_ancestor_thread_num(level) == rank &&
               omp_get_team_size(level) == 4;
    __atomic_fetch_add(&seen[same && rank >= 0 && rank < 4 ? rank : 4], 1, __ATOMIC_RELAXED);
}

// Whether each member of a region of four saw its own number.
int each_once(void) {
    static ident here = {0, 2, 0, 0, ";unknown;unknown;0;0;;"};
    int seen[5] = {0};
    omp_set_num_threads(4);
    __kmpc_fork_call(&here, 1, (void (*)(int *, int *, ...))body, seen);
    return seen[0] == 1 && seen[1] == 1 && seen[2] == 1 && seen[3] == 1;
}
#elif defined(GNU)
#include <omp.h>

// Calls the function within one member of a region, and returns what that member and the region say of it.
int within(int (*each_once)(void), int rank) {
    int good = 0, members = 0;
#pragma omp parallel num_threads(3) reduction(+ : good, members)
    {
        members += 1;
        if (omp_get_thread_num() == rank) good += each_once() + (omp_get_thread_num() == rank && omp_get_num_threads() == 3);
    }
    return good == 2 && members == 3 && !omp_in_parallel() && omp_get_num_threads() == 1;
}
#else
#include <dlfcn.h>

int main(int count, char **files) {
    void *bare = dlopen(files[1], RTLD_NOW | RTLD_LOCAL), *gnu = dlopen(files[2], RTLD_NOW | RTLD_LOCAL);
    if (!bare || !gnu) return fprintf(stderr, "%s\n", dlerror()), 2;
    int (*each_once)(void) = (int (*)(void))dlsym(bare, "each_once");
    int (*within)(int (*)(void), int) = (int (*)(int (*)(void), int))dlsym(gnu, "within");
    int alone = 0, inside = 0;
    for (int round = 0; round < 50; round++) alone += each_once();
    for (int round = 0; round < 50; round++) inside += within(each_once, 1 + round % 2);
    printf("%d %d\n", alone, inside);
    return 0;
}
#endif
