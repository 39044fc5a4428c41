// Programs with one fault each, and some without, for `.ci/advise`. Each takes about three seconds, or does
// the same work each time: then teams share the work that they would do with the threads that they ask for.
// usage: planted KIND [A [B [MILLISECONDS [ROUNDS]]]]; what A and B mean stands at each kind.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long lasts_ms = 3000, rounds;
static __thread long rounds_done;
static double began;
static volatile double sink;

static double clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static int goes_on(void) {
    return rounds ? rounds_done++ < rounds : clock_s(CLOCK_MONOTONIC) - began < lasts_ms * 1e-3;
}
// Uses that much processor time, however long that takes.
static void burn(double us) {
    double until = clock_s(CLOCK_THREAD_CPUTIME_ID) + us * 1e-6;
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < 200; i++) sink += i;
}
// A part of a region for that many threads.
static void part(double us, long threads) { burn(us * threads / omp_get_num_threads()); }
static void nap(double us) { nanosleep(&(struct timespec){ us / 1e6, (long)us % 1000000 * 1000 }, NULL); }

// A: microseconds of each part, B: threads.
static void even(long us, long threads) {
    while (goes_on()) {
#pragma omp parallel num_threads(threads)
        part(us, threads);
    }
}
static void mask(long us, long cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    even(us, 2);
}
// One thread has B times as much work.
static void slow(long us, long factor) {
    while (goes_on()) {
#pragma omp parallel num_threads(2)
        burn(omp_get_thread_num() == 1 ? us * factor : us);
    }
}
// Parts of A nanoseconds.
static void tiny(long ns, long threads) {
    while (goes_on())
        for (int many = 0; many < 500; many++) {
#pragma omp parallel num_threads(threads)
            for (long i = 0, of = ns * threads / omp_get_num_threads(); i < of; i++) __asm__ volatile("");
        }
}
// One member sleeps or writes a file for B microseconds in each region.
static void io(long us, long nap_us) {
    char name[] = "/tmp/planted-XXXXXX", bytes[4096] = { 0 };
    int file = mkstemp(name);
    unlink(name);
    while (goes_on()) {
#pragma omp parallel num_threads(2)
        {
            burn(us);
            if (omp_get_thread_num() == 1) {
                if (pwrite(file, bytes, sizeof bytes, 0) < 0 || fsync(file)) abort();
                nap(nap_us);
            }
        }
    }
}
// Between regions the first thread works alone for B microseconds. Needs OMP_WAIT_POLICY=active.
static void idle(long us, long alone_us) {
    while (goes_on()) {
#pragma omp parallel num_threads(2)
        part(us, 2);
        burn(alone_us);
    }
}

static atomic_long job, done;
static void *server(void *arg) {
    for (long seen = 0;;) {
        while (atomic_load(&job) == seen) sched_yield();
        seen = atomic_load(&job);
        if (seen < 0) return NULL;
        burn(*(long *)arg);
        atomic_fetch_add(&done, 1);
    }
}
// A pool of B threads besides that of OpenMP, used in turns with it; both spin. Needs OMP_WAIT_POLICY=active.
static void two_pools(long us, long threads) {
    pthread_t id[16];
    for (long i = 0; i < threads; i++) pthread_create(&id[i], NULL, server, &us);
    for (long round = 1; goes_on(); round++) {
        atomic_store(&done, 0);
        atomic_store(&job, round);
        while (atomic_load(&done) < threads) sched_yield();
#pragma omp parallel num_threads(2)
        part(us, 2);
    }
    atomic_store(&job, -1);
    for (long i = 0; i < threads; i++) pthread_join(id[i], NULL);
}
static void *outer(void *arg) { return even(*(long *)arg, 2), NULL; }
// B threads that each have a team of two.
static void nested(long us, long threads) {
    pthread_t id[16];
    for (long i = 0; i < threads; i++) pthread_create(&id[i], NULL, outer, &us);
    for (long i = 0; i < threads; i++) pthread_join(id[i], NULL);
}
// B processes that each have a team of two.
static void processes(long us, long count) {
    for (long i = 0; i < count; i++)
        if (!fork()) even(us, 2), _exit(0);
    while (wait(NULL) > 0) { }
}

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static void *contender(void *arg) {
    while (goes_on()) {
        pthread_mutex_lock(&lock_a);
        burn(*(long *)arg);
        pthread_mutex_unlock(&lock_a);
        burn(*(long *)arg / 20.0);
    }
    return NULL;
}
// B threads hold one mutex for A microseconds, again and again.
static void convoy(long us, long threads) {
    pthread_t id[16];
    for (long i = 0; i < threads; i++) pthread_create(&id[i], NULL, contender, &us);
    for (long i = 0; i < threads; i++) pthread_join(id[i], NULL);
}
static pthread_barrier_t meeting;
static void *crossed(void *arg) {
    pthread_mutex_lock(&lock_b);
    nap(200000);
    pthread_mutex_lock(&lock_a);
    return arg;
}
static void *waits(void *arg) { return pthread_barrier_wait(&meeting), arg; }
// After A milliseconds of work, nobody moves: two locks cross (B = 0), or a member never arrives.
static void hang(long ms, long way) {
    pthread_t id;
    alarm(lasts_ms / 1000);
    burn(ms * 1e3);
    if (way == 0) {
        pthread_mutex_lock(&lock_a);
        pthread_create(&id, NULL, crossed, NULL);
        nap(200000);
        pthread_mutex_lock(&lock_b);
    }
    pthread_barrier_init(&meeting, NULL, 3);
    pthread_create(&id, NULL, waits, NULL);
    waits(NULL);
}
static void *worker(void *arg) { return burn(*(long *)arg * 1e3), NULL; }
// Wants B threads with stacks of 256 MiB, and has room for fewer.
static void refused(long ms, long threads) {
    pthread_t id[64];
    pthread_attr_t large;
    struct rlimit limit = { 900l << 20, 900l << 20 };
    long many = 0;
    setrlimit(RLIMIT_AS, &limit);
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 256l << 20);
    while (many < threads && pthread_create(&id[many], &large, worker, &ms) == 0) many++;
    if (many < threads) fprintf(stderr, "has %ld of %ld threads\n", many, threads);
    for (long i = 0; i < many; i++) pthread_join(id[i], NULL);
}

// Without a fault. One thread.
static void serial(long us, long unused) {
    while (goes_on()) burn(us + unused * 0);
}
// Works for A microseconds, and sleeps for ten times as long.
static void sleeper(long us, long unused) {
    while (goes_on()) burn(us + unused * 0), nap(us * 10);
}
// Reads a file of A MiB, again and again.
static void reader(long mib, long unused) {
    static char bytes[1 << 16];
    char name[] = "/tmp/planted-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    for (long i = 0; i < mib * 16; i++)
        if (write(file, bytes, sizeof bytes) < 0) abort();
    while (goes_on()) {
        lseek(file, unused * 0, SEEK_SET);
        while (read(file, bytes, sizeof bytes) > 0) burn(50);
        fsync(file);
    }
}
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long jobs;
static void *consumer(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock_a);
        while (jobs == 0) pthread_cond_wait(&filled, &lock_a);
        long mine = jobs < 0 ? jobs : jobs--;
        pthread_mutex_unlock(&lock_a);
        if (mine < 0) return NULL;
        burn(*(long *)arg);
    }
}
// A thread gives another one a job of A microseconds every B microseconds.
static void queue(long us, long apart_us) {
    pthread_t id;
    pthread_create(&id, NULL, consumer, &us);
    while (goes_on()) {
        pthread_mutex_lock(&lock_a);
        jobs++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock_a);
        nap(apart_us);
    }
    pthread_mutex_lock(&lock_a);
    jobs = -1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock_a);
    pthread_join(id, NULL);
}

static const struct { const char *name; void (*run)(long, long); int spins; } kinds[] = {
    { "even", even, 0 }, { "mask", mask, 0 }, { "slow", slow, 0 }, { "tiny", tiny, 0 }, { "io", io, 0 },
    { "idle", idle, 1 }, { "two-pools", two_pools, 1 }, { "nested", nested, 0 }, { "processes", processes, 0 },
    { "convoy", convoy, 0 }, { "hang", hang, 0 }, { "refused", refused, 0 }, { "serial", serial, 0 },
    { "sleeper", sleeper, 0 }, { "reader", reader, 0 }, { "queue", queue, 0 },
};

int main(int count, char **words) {
    long a = count > 2 ? atol(words[2]) : 1000, b = count > 3 ? atol(words[3]) : 2;
    if (count > 4) lasts_ms = atol(words[4]);
    if (count > 5) rounds = atol(words[5]);
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, words[1])) continue;
        // The runtime reads its settings when it is loaded.
        if (kinds[i].spins && !getenv("OMP_WAIT_POLICY")) {
            setenv("OMP_WAIT_POLICY", "active", 1);
            execv("/proc/self/exe", words);
        }
        began = clock_s(CLOCK_MONOTONIC);
        kinds[i].run(a, b);
        puts("done");
        return 7;
    }
    return fprintf(stderr, "no such kind\n"), 2;
}
