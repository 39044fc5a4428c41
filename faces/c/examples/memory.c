/* Ranks, threads here and processes under a launcher, count remainders of squares in bins that they share. */
#include <foregather.h>
#include <stdio.h>

enum { NUMBERS = 10000, BINS = 8 };
struct task {
    fg_shared_array *bins;
    uint64_t own[BINS];
};

/* Adds a rank's own bins to those that all share, while no other rank does. */
static void add(void *data) {
    struct task *task = data;
    uint64_t bins[BINS];
    if (fg_shared_array_load(task->bins, 0, BINS, bins)) return;
    for (int bin = 0; bin < BINS; bin++) bins[bin] += task->own[bin];
    fg_shared_array_store(task->bins, 0, BINS, bins);
}

static int body(fg_memory *me, void *data) {
    struct task task = {0};
    fg_shared_lock *lock;
    uint32_t rank, size;
    int code;
    (void)data;
    if ((code = fg_memory_rank(me, &rank)) || (code = fg_memory_size(me, &size))) return code;
    if ((code = fg_memory_array(me, FG_INFINITE, sizeof(uint64_t), BINS, &task.bins))) return code;
    if ((code = fg_memory_lock(me, FG_INFINITE, &lock))) return code;
    size_t end = fg_share_begin(NUMBERS, rank + 1, size);
    for (size_t number = fg_share_begin(NUMBERS, rank, size); number < end; number++) task.own[number * number % BINS]++;
    if ((code = fg_shared_lock_with(lock, FG_INFINITE, add, &task)) || (code = fg_memory_barrier(me, FG_INFINITE))) return code;
    if (rank > 0) return FG_OK;
    if ((code = fg_shared_array_load(task.bins, 0, BINS, task.own))) return code;
    for (int bin = 0; bin < BINS; bin++) printf("%lu%c", (unsigned long)task.own[bin], bin + 1 < BINS ? ' ' : '\n');
    return FG_OK;
}

int main(void) {
    if (fg_shared(4, body, NULL)) {
        fprintf(stderr, "%s\n", fg_error_message());
        return 1;
    }
    return 0;
}
