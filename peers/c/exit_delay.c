/* Works in regions of four threads for some milliseconds, writes the time, and ends at once in the named way. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "exit";
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (long end = now_ns() + 50 * 1000000L; now_ns() < end;) {
#pragma omp parallel num_threads(4)
        for (int episode = 0; episode < 4; episode++) {
#pragma omp barrier
        }
    }
    char line[32];
    int length = snprintf(line, sizeof line, "%ld\n", now_ns());
    if (write(1, line, length) != length) return 2;
    if (strcmp(way, "_exit") == 0) _exit(0);
    if (strcmp(way, "abort") == 0) abort();
    if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
    return 0;
}
