/* Two threads start together a thousand times; starts for which one of them was late are counted and not used. */
#include <foregather.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, STARTS = 1000 };
static fg_barrier_member *members[THREADS];
static uint64_t late_ns[THREADS][STARTS];

static void *work(void *at) {
    size_t me = (size_t)at;
    for (int start = 0; start < STARTS; start++)
        if (fg_barrier_member_harmonize(members[me], -1, &late_ns[me][start])) {
            fprintf(stderr, "thread %zu: %s\n", me, fg_error_message());
            exit(1);
        }
    return NULL;
}

int main(void) {
    pthread_t other;
    int together = 0;
    if (fg_barrier_members(THREADS, members)) {
        fprintf(stderr, "%s\n", fg_error_message());
        return 1;
    }
    pthread_create(&other, NULL, work, (void *)1);
    work(NULL);
    pthread_join(other, NULL);
    for (int start = 0; start < STARTS; start++) together += late_ns[0][start] == 0 && late_ns[1][start] == 0;
    printf("%d starts\n", STARTS);
    fprintf(stderr, "%d of them together\n", together);
    for (int me = 0; me < THREADS; me++) fg_barrier_member_destroy(members[me]);
    return 0;
}
