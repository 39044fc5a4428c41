/* Regions of LLVM's runtime as its compiler writes them, for machines that have the runtime alone. */
#include <stdio.h>

typedef struct {
    int reserved, flags, more[2];
    const char *source;
} place_t;
typedef void part_t(int *thread, int *bound, int *sum);

extern void __kmpc_fork_call(place_t *place, int arguments, part_t *part, ...);
extern void __kmpc_push_num_threads(place_t *place, int thread, int threads);
extern int __kmpc_global_thread_num(place_t *place);
extern void __kmpc_barrier(place_t *place, int thread);
extern void __kmpc_critical(place_t *place, int thread, int section[8]);
extern void __kmpc_end_critical(place_t *place, int thread, int section[8]);

// The flags of code of that compiler, and of barriers that a program writes.
static place_t place = {.flags = 0x22, .source = ";fork_call.c;main;1;1;;"};
static int section[8];

static void part(int *thread, int *bound, int *sum) {
    (void)bound;
    __kmpc_critical(&place, *thread, section);
    ++*sum;
    __kmpc_end_critical(&place, *thread, section);
    __kmpc_barrier(&place, *thread);
}

int main(void) {
    int sum = 0;
    for (int region = 0; region < 40; region++) {
        __kmpc_push_num_threads(&place, __kmpc_global_thread_num(&place), 2);
        __kmpc_fork_call(&place, 1, part, &sum);
    }
    printf("%d\n", sum);
    return 5;
}
