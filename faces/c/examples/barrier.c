/* Four threads each write a number, meet, and then each adds up what all have written. */
#include <foregather.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 1000 };
static fg_barrier_member *members[THREADS];
static long numbers[THREADS], sums[THREADS];

static void *work(void *at) {
    long me = (long)at;
    for (long round = 0; round < ROUNDS; round++) {
        numbers[me] = round + me;
        /* All numbers are there, and later: all have read them. */
        if (fg_barrier_member_wait(members[me], FG_INFINITE, NULL)) goto failed;
        for (int each = 0; each < THREADS; each++) sums[me] += numbers[each];
        if (fg_barrier_member_wait(members[me], FG_INFINITE, NULL)) goto failed;
    }
    return NULL;
failed:
    fprintf(stderr, "thread %ld: %s\n", me, fg_error_message());
    return at;
}

int main(void) {
    pthread_t threads[THREADS];
    if (fg_barrier_members(THREADS, members)) {
        fprintf(stderr, "%s\n", fg_error_message());
        return 1;
    }
    for (long me = 0; me < THREADS; me++) pthread_create(&threads[me], NULL, work, (void *)me);
    for (int me = 0; me < THREADS; me++) pthread_join(threads[me], NULL);
    for (int me = 0; me < THREADS; me++) fg_barrier_member_destroy(members[me]);
    printf("%ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
