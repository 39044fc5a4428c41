/* { dg-do run } */
/* { dg-set-target-env-var OMP_PROC_BIND "true" } */
/* { dg-set-target-env-var OMP_PLACES "threads" } */
/* Its first thread is bound before main: by the runtime that it is linked with, even if another one serves it. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main (int count, char **arguments) {
  cpu_set_t allowed, used;
  if (count == 1) {
    /* What this process was allowed before it was bound is known to a child that is not. */
    unsetenv ("OMP_PROC_BIND");
    unsetenv ("OMP_PLACES");
    long processors = sysconf (_SC_NPROCESSORS_ONLN);
    CPU_ZERO (&allowed);
    for (long cpu = 0; cpu < processors; cpu++) CPU_SET (cpu, &allowed);
    sched_setaffinity (0, sizeof allowed, &allowed);
    sched_getaffinity (0, sizeof allowed, &allowed);
    if (CPU_COUNT (&allowed) < 2) return 0;
    setenv ("OMP_PROC_BIND", "true", 1);
    setenv ("OMP_PLACES", "threads", 1);
    execl ("/proc/self/exe", arguments[0], "bound", (char *) 0);
  }
  CPU_ZERO (&used);
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  {
    threads++;
#pragma omp critical
    CPU_SET (sched_getcpu (), &used);
  }
  if (threads < 2 || omp_get_num_places () < 2 || CPU_COUNT (&used) < 2) abort ();
  return 0;
}
