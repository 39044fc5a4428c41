/* { dg-do run } */
/* Each member uses most of the stack that a new thread has by default. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static long use (long bytes) {
  volatile char page[16384];
  page[0] = 1;
  return bytes < (long) sizeof page ? page[0] : use (bytes - (long) sizeof page) + page[0];
}

int main (int count, char **arguments) {
  struct rlimit limit;
  getrlimit (RLIMIT_STACK, &limit);
  rlim_t wanted = 64 << 20;
  if (count == 1 && (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted)) {
    /* Once more with a larger limit, which a process takes over when it starts. */
    limit.rlim_cur = wanted;
    if (setrlimit (RLIMIT_STACK, &limit) == 0 && fork () == 0)
      execl ("/proc/self/exe", arguments[0], "again", (char *) 0);
  }
  pthread_attr_t defaults;
  size_t most;
  pthread_getattr_default_np (&defaults);
  pthread_attr_getstacksize (&defaults, &most);
  long pages = 0;
  int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : pages, wrong)
  if (omp_get_thread_num () > 0) {
    pthread_attr_t own;
    size_t bytes;
    void *base;
    pthread_getattr_np (pthread_self (), &own);
    pthread_attr_getstack (&own, &base, &bytes);
    wrong += bytes < most;
    pages += use ((long) most - (256 << 10));
  }
  if (wrong || pages == 0) abort ();
  return 0;
}
