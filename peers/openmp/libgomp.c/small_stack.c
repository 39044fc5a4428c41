/* { dg-do run } */
/* { dg-additional-options "-pthread" } */
/* The program's first region is opened by a thread with the least stack. */
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

static void *host (void *unused) {
  long n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; i++) n++;
#pragma omp critical
    n++;
  }
  return (void *) n;
}

int main (void) {
  pthread_attr_t small;
  pthread_t thread;
  void *n;
  pthread_attr_init (&small);
  pthread_attr_setstacksize (&small, PTHREAD_STACK_MIN);
  for (int round = 0; round < 3; round++) {
    if (pthread_create (&thread, &small, host, 0)) abort ();
    pthread_join (thread, &n);
    if ((long) n != 13) abort ();
  }
  return 0;
}
