// Programs that are hard to watch, for `.ci/advise-trouble`, and regions of a known length, for `.ci/advise-cost`.
// usage: trouble KIND [A [B]]; what the numbers mean stands at each kind.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void work(long steps) {
    for (long i = 0; i < steps; i++) __asm__ volatile("");
}
static void nap(long us) { nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL); }
// Four threads in regions of 2 ms, for A milliseconds.
static void pool(long ms) {
    for (double until = now() + ms * 1e-3; now() < until;) {
#pragma omp parallel num_threads(4)
        for (double end = now() + 2e-3; now() < end;) work(1000);
    }
}

static pthread_barrier_t all;
static long steps, pause_us;
static void *sleeper(void *arg) {
    if (pause_us == 0) return pthread_barrier_wait(&all), arg;
    for (;;) work(steps), nap(pause_us);
}
// A threads that sleep until the last one is there, B milliseconds later.
static void threads(long count, long ms) {
    pthread_t *id = calloc(count, sizeof *id);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all, NULL, count + 1);
    for (long i = 0; i < count; i++)
        if (pthread_create(&id[i], &small, sleeper, NULL)) fprintf(stderr, "refused after %ld threads\n", i), exit(3);
    nap(ms * 1000);
    pthread_barrier_wait(&all);
    for (long i = 0; i < count; i++) pthread_join(id[i], NULL);
}
// A threads that work for a moment and sleep for 20 ms, for B milliseconds.
static void busy(long count, long ms) {
    pthread_t id;
    steps = 20000, pause_us = 20000;
    for (long i = 0; i < count; i++) pthread_create(&id, NULL, sleeper, NULL);
    nap(ms * 1000);
}
// A pool after all descriptors but the first three were closed.
static void closes(long ms, long unused) {
    for (int file = 3; file < 4096; file++) close(file);
    pool(ms + unused * 0);
}
// A pool as another user.
static void drops(long ms, long user) {
    if (setgid(user) || setuid(user)) fprintf(stderr, "setuid: %s\n", strerror(errno)), exit(3);
    pool(ms);
}
// A pool after 300 ms of sleep, by a program that replaces this one, in a child (B = 1) or in place.
static void becomes(long ms, long forks) {
    char text[32];
    nap(300000);
    snprintf(text, sizeof text, "%ld", ms);
    if (forks && fork()) {
        wait(NULL);
        return;
    }
    execl("/proc/self/exe", "trouble", "pool", text, (char *)NULL);
}
// Signals that other programs use for themselves, in a pool: a profiler's timer, and a real-time signal.
static volatile sig_atomic_t ticks;
static void tick(int number) { ticks += number > 0; }
static void signals(long ms, long unused) {
    struct sigaction action = { .sa_handler = tick };
    timer_t timer;
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGRTMIN + 1, &action, NULL);
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &(struct itimerspec){ { 0, 5000000 }, { 0, 5000000 } }, NULL);
    pool(ms + unused * 0);
    raise(SIGRTMIN + 1);
    if (ticks < ms / 20) fprintf(stderr, "%d ticks\n", (int)ticks), exit(3);
}
// Prints how many steps of work take A microseconds.
static void calibrate(long us, long unused) {
    double best = 1e9;
    for (int i = 0; i < 50 + unused * 0; i++) {
        double began = now();
        work(1000000);
        if (now() - began < best) best = now() - began;
    }
    printf("%.0f\n", us * 1e-6 / best * 1e6);
}
static void hundred_regions(long size) {
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(2)
        work(size);
    }
}
// Regions of A steps of work each in two threads, for B milliseconds; prints nanoseconds a region, without the first 300 ms.
static void regions(long size, long ms) {
    for (double until = now() + 0.3; now() < until;) hundred_regions(size);
    double from = now();
    long count = 0;
    for (; now() < from + ms * 1e-3; count += 100) hundred_regions(size);
    printf("%.1f\n", (now() - from) / count * 1e9);
}

static void only_pool(long ms, long unused) { pool(ms + unused * 0); }
static const struct { const char *name; void (*run)(long, long); } kinds[] = {
    { "pool", only_pool }, { "threads", threads }, { "busy", busy }, { "closes", closes }, { "drops", drops },
    { "becomes", becomes }, { "signals", signals }, { "calibrate", calibrate }, { "regions", regions },
};

int main(int count, char **words) {
    long a = count > 2 ? atol(words[2]) : 1000, b = count > 3 ? atol(words[3]) : 0;
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, words[1])) continue;
        kinds[i].run(a, b);
        return fflush(stdout), 7;
    }
    return fprintf(stderr, "no such kind\n"), 2;
}
