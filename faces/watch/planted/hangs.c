// OpenMP regions, critical sections, locks and mutexes that never end, and slow ones that do, for `.ci/hang`.
// usage: hangs read|spin|locks|circle|critical|sections|omp-locks|same-lock|late
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long steps;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void lock(pthread_mutex_t *one, pthread_mutex_t *other) {
    pthread_mutex_lock(one);
    usleep(200000);
    pthread_mutex_lock(other);
}
static void wait_for_input(void) {
    int ends[2];
    char byte;
    if (pipe(ends) || read(ends[0], &byte, 1) < 1) exit(1);
}
static void spin_forever(void) {
    for (;;) steps++;
}

static void at_barrier(void) {
#pragma omp barrier
}
// The first thread waits for the others in the section, and the last one waits for the section.
static void in_section(int thread) {
    if (thread == 2) usleep(200000);
    if (thread == 1) return;
#pragma omp critical
    if (thread == 0) at_barrier();
}
// Two threads enter two sections in opposite order.
static void in_sections(int thread) {
    if (thread == 0) {
#pragma omp critical(jobs)
        {
            usleep(200000);
#pragma omp critical(results)
            steps++;
        }
    }
    if (thread == 1) {
#pragma omp critical(results)
        {
            usleep(200000);
#pragma omp critical(jobs)
            steps++;
        }
    }
}

// Two threads take two locks in opposite order.
static void in_locks(int thread, omp_lock_t *locks) {
    if (thread > 1) return;
    omp_set_lock(&locks[thread]);
    usleep(200000);
    omp_set_lock(&locks[1 - thread]);
}

// The same with locks that a thread may take again.
static void in_nest_locks(int thread, omp_nest_lock_t *locks) {
    if (thread > 1) return;
    omp_set_nest_lock(&locks[thread]);
    omp_set_nest_lock(&locks[thread]);
    omp_unset_nest_lock(&locks[thread]);
    usleep(200000);
    omp_set_nest_lock(&locks[1 - thread]);
}

static void *crosswise(void *none) { return lock(&second, &first), none; }

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    pthread_t id;
    omp_lock_t locks[2];
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
    omp_nest_lock_t nest[2];
    omp_init_nest_lock(&nest[0]);
    omp_init_nest_lock(&nest[1]);
    if (!strcmp(kind, "locks")) {
        pthread_create(&id, NULL, crosswise, NULL);
        lock(&first, &second);
    }
    if (!strcmp(kind, "circle")) pthread_mutex_lock(&first);
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 2) {
            if (!strcmp(kind, "read")) wait_for_input();
            if (!strcmp(kind, "spin")) spin_forever();
            // The first thread holds it, and waits below.
            if (!strcmp(kind, "circle")) pthread_mutex_lock(&first);
            if (!strcmp(kind, "late")) sleep(3);
        }
        if (!strcmp(kind, "critical")) in_section(omp_get_thread_num());
        if (!strcmp(kind, "sections")) in_sections(omp_get_thread_num());
        if (!strcmp(kind, "omp-locks")) in_locks(omp_get_thread_num(), locks);
        if (!strcmp(kind, "nest-locks")) in_nest_locks(omp_get_thread_num(), nest);
        for (int i = 0; i < 1000; i++) {
#pragma omp critical(jobs)
            steps++;
            omp_set_lock(&locks[0]);
            steps++;
            omp_unset_lock(&locks[0]);
            omp_set_nest_lock(&nest[0]);
            omp_test_nest_lock(&nest[0]);
            steps++;
            omp_unset_nest_lock(&nest[0]);
            omp_unset_nest_lock(&nest[0]);
        }
        if (!strcmp(kind, "same-lock") && omp_test_lock(&locks[1])) omp_set_lock(&locks[1]);
#pragma omp barrier
    }
    return 7;
}
