// Programs that are hard to watch, for `.ci/advise-trouble`, and regions of a known length, for `cost`.
// usage: trouble KIND [A [B]]; what the numbers mean stands at each kind.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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
// A pool, and then all real-time signals and a timer for itself: each was at its default action, arrives once and interrupts
// nothing before. B = 1: a thread waits for all signals instead.
static volatile sig_atomic_t caught[65];
static void caught_one(int number) { caught[number]++; }
static void *awaits_all(void *arg) {
    sigset_t all_of_them;
    sigfillset(&all_of_them);
    sigwait(&all_of_them, arg);
    return NULL;
}
static void demand(int holds, const char *what) {
    if (!holds) fprintf(stderr, "not so: %s\n", what), exit(3);
}
static void demands(long ms, long awaits) {
    struct sigaction old, own = { .sa_handler = caught_one };
    for (double until = now() + ms * 5e-4; now() < until;) {
        struct timespec left;
        work(300000);
        demand(nanosleep(&(struct timespec){ 0, 100000 }, &left) == 0, "no signal interrupts a sleep");
        demand(poll(NULL, 0, 1) == 0, "no signal interrupts poll");
    }
    pool(ms / 2);
    if (awaits) {
        pthread_t id;
        sigset_t all_of_them, before;
        int got = 0;
        sigfillset(&all_of_them);
        pthread_sigmask(SIG_BLOCK, &all_of_them, &before);
        pthread_create(&id, NULL, awaits_all, &got);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pool(ms);
        pthread_kill(id, SIGUSR2);
        pthread_join(id, NULL);
        demand(got == SIGUSR2, "a thread that waits for all signals gets its own");
        return;
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        demand(sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL && old.sa_flags == 0, "the action is the default");
        demand(sigaction(number, &own, &old) == 0 && old.sa_handler == SIG_DFL && old.sa_flags == 0, "the action was the default");
    }
    pool(ms);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        demand(caught[number] == 0, "no signal came by itself");
        raise(number);
        demand(caught[number] == 1, "a signal arrives once");
        demand(signal(number, SIG_DFL) == caught_one, "the handler is the program's");
    }
}
// Each real-time signal ends a child that does not handle it, and no child that works hard ends by itself, nor a program that it
// becomes.
static void dies(long ms, long unused) {
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        int status;
        pid_t child = fork();
        if (!child) sched_yield(), work(60000000), raise(number), _exit(unused * 0);
        waitpid(child, &status, 0);
        demand(WIFSIGNALED(status) && WTERMSIG(status) == number, "the signal ends the child");
    }
    for (double until = now() + ms * 1e-3; now() < until;) {
        int status;
        pid_t child = fork();
        if (!child) sched_yield(), work(60000000), execl("/bin/true", "true", (char *)NULL), _exit(3);
        waitpid(child, &status, 0);
        demand(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a program that another one becomes runs to its end");
    }
}
// A server that yields until it has a job, as those of OpenBLAS do, beside a thread that works alone for A milliseconds.
static volatile int has_job;
static void *serves(void *arg) {
    while (!has_job) sched_yield();
    return arg;
}
__attribute__((noinline)) static void work_alone(double until) {
    while (now() < until) work(100000);
}
// One thread works for A milliseconds.
static void alone(long ms, long unused) { work_alone(now() + ms * 1e-3 + unused * 0); }
static void server(long ms, long unused) {
    pthread_t id;
    pthread_create(&id, NULL, serves, NULL);
    work_alone(now() + ms * 1e-3);
    has_job = 1 + unused * 0;
    pthread_join(id, NULL);
}
// One thread of two has a second part of work, for A milliseconds of processor time.
__attribute__((noinline)) static void common_part(long count) { work(count); }
__attribute__((noinline)) static void extra_part(long count) { work(count + 1); }
static void extra(long ms, long unused) {
    while (clock() < ms * (CLOCKS_PER_SEC / 1000)) {
#pragma omp parallel num_threads(2)
        {
            common_part(2000000);
            if (omp_get_thread_num() == 1) extra_part(1000000 + unused * 0);
        }
    }
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
    { "becomes", becomes }, { "signals", signals }, { "demands", demands },
    { "dies", dies }, { "server", server }, { "alone", alone }, { "extra", extra }, { "calibrate", calibrate }, { "regions", regions },
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
