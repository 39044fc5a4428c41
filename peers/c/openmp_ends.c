/* Programs, threads and regions that end in other ways than usual; each case says that it ended well.
   threads: a thousand threads that have a region each, and end; exit: the program ends within a region; jump:
   every member leaves its work by a jump; limit: the user may have three threads, and asks for eight. */
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int count(int threads) {
    int calls = 0;
#pragma omp parallel num_threads(threads) reduction(+ : calls)
    calls++;
    return calls;
}

static void *region(void *unused) {
    (void)unused;
    return (void *)(long)(count(3) != 3);
}

/* Threads of this process. */
static int alive(void) {
    int threads = -2;
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks))
        threads++;
    closedir(tasks);
    return threads;
}

static int threads(void) {
    long wrong = 0;
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        void *result;
        if (pthread_create(&thread, NULL, region, NULL) || pthread_join(thread, &result))
            return 1;
        wrong += (long)result;
    }
    /* Members end by themselves; a runtime may keep one thread of its own for the whole process. */
    for (int i = 0; i < 1000 && alive() > 2; i++)
        usleep(5000);
    return wrong || alive() > 2;
}

static int jump(void) {
    int back = 0;
#pragma omp parallel num_threads(4) reduction(+ : back)
    {
        jmp_buf here;
        if (setjmp(here) == 0)
            longjmp(here, 1);
        back++;
#pragma omp barrier
    }
    return back != 4;
}

static int limit(void) {
    struct rlimit three = {3, 3};
    if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
        return 1;
    if (setrlimit(RLIMIT_NPROC, &three))
        return 1;
    int got = count(8);
    return got < 1 || got > 8;
}

/* Within the region: a region of one, unless regions may lie within each other. */
static void at_exit(void) { puts(count(2) == 1 ? "exit well" : "exit badly"); }

int main(int arguments, char **argument) {
    const char *which = arguments > 1 ? argument[1] : "";
    if (strcmp(which, "exit") == 0) {
        atexit(at_exit);
#pragma omp parallel num_threads(4)
#pragma omp master
        exit(0);
    }
    int wrong = strcmp(which, "threads") == 0 ? threads() : strcmp(which, "jump") == 0 ? jump() : limit();
    printf("%s %s\n", which, wrong ? "badly" : "well");
    return wrong;
}
