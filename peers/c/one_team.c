/* Products between regions, by the libraries that are named: `one_team OPENMP BLAS CASE`. OPENMP is a library with a
   function `region`, BLAS a library with `cblas_dgemm`; both are loaded with RTLD_LOCAL.
   Prints the workers that the process has after the case, and that a child of a fork has, and a checksum of the results. */
#include <dlfcn.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 400 };
static double a[N * N], b[N * N], c[N * N];
typedef void gemm_t(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
typedef int region_t(double *, int);
static gemm_t *gemm;
static region_t *region;

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Returns whether that thread is a member of a team, by its name. */
static int is_worker(const char *task) {
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task);
    FILE *file = fopen(path, "r");
    if (file && !fgets(name, sizeof name, file))
        name[0] = 0;
    if (file)
        fclose(file);
    return strncmp(name, "team ", 5) == 0;
}

/* The members of teams in this process beside the callers, when those that are ending have ended. */
static int workers(void) {
    int count = 0, before = -1;
    for (int look = 0; look < 100 && (look < 10 || count != before); look++) {
        DIR *tasks = opendir("/proc/self/task");
        before = count;
        count = 0;
        for (struct dirent *task; tasks && (task = readdir(tasks));)
            count += is_worker(task->d_name);
        closedir(tasks);
        usleep(10000);
    }
    return count;
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found)
        exit(3);
    return found;
}

static void product(int n) {
    gemm(102, 111, 111, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
}

/* Products and regions in turn; longer than the team believes what it has found of the machine. */
static void turns(double span, int n) {
    for (double end = seconds(CLOCK_MONOTONIC) + span; seconds(CLOCK_MONOTONIC) < end;) {
        product(n);
        region(b, n * n);
    }
}

static int no_region(double *numbers, int count) {
    (void)numbers;
    return count;
}

static double checksum(void) {
    double sum = 0;
    for (int i = 0; i < N * N; i++)
        a[i] = sin(i), b[i] = cos(i);
    product(N);
    for (int i = 0; i < N * N; i++)
        sum += c[i] * (1 + i % 7);
    return sum;
}

static void *of_a_thread(void *count) {
    region(b, N * N);
    turns(0.1, 200);
    *(int *)count = workers();
    return NULL;
}

int main(int arguments, char **argument) {
    const char *what = arguments > 3 ? argument[3] : "";
    void *openmp = NULL, *blas = NULL;
    if (arguments < 4)
        return 1;
    if (strcmp(what, "blas-first") == 0) {
        blas = load(argument[2]);
        gemm = symbol(blas, "cblas_dgemm");
        for (int i = 0; i < 50; i++)
            product(N);
    }
    openmp = load(argument[1]);
    region = symbol(openmp, "region");
    if (!blas) {
        blas = load(argument[2]);
        gemm = symbol(blas, "cblas_dgemm");
    }
    if (strcmp(what, "time") == 0) {
        int n = atoi(argument[4]), count = atoi(argument[5]);
        turns(0.3, n);
        double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < count; i++) {
            product(n);
            region(b, n * n);
        }
        printf("%.6f %.6f %d\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, workers());
        return 0;
    }
    turns(strcmp(what, "blas-first") == 0 ? 2.5 : 0.2, 200);
    int members = region(NULL, 0);
    if (strcmp(what, "close-openmp") == 0) {
        dlclose(openmp);
        region = no_region;
    }
    if (strcmp(what, "close-blas") == 0) {
        dlclose(blas);
        region(b, N * N);
    }
    product(N);
    int here = workers(), child = 0, other = 0, status;
    if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, of_a_thread, &other);
        pthread_join(thread, NULL);
        here = workers();
    }
    double sum = checksum();
    /* The child of a GNU runtime that has had regions may not have any. */
    pid_t forked = strcmp(what, "no-fork") == 0 ? -1 : fork();
    if (forked == 0) {
        alarm(30);
        double again = checksum();
        turns(0.1, 200);
        _exit(again == sum ? workers() : 99);
    }
    if (forked > 0) {
        waitpid(forked, &status, 0);
        child = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    printf("members %d workers %d child %d sum %.17g\n", members, here, child, sum);
    if (other)
        printf("another thread: %d\n", other);
    return 0;
}
