/* { dg-do run } */
/* { dg-set-target-env-var OMP_SCHEDULE "static,0" } */
/* { dg-set-target-env-var OMP_STACKSIZE "1" } */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

int main (void) {
  omp_sched_t kind;
  int chunk;
  omp_get_schedule (&kind, &chunk);
  if ((kind & 0x7fffffff) != omp_sched_static || chunk != 0) abort ();
  omp_set_num_threads (0);
  if (omp_get_max_threads () != 1) abort ();
  omp_set_num_threads (3);
  omp_set_num_threads (-5);
  if (omp_get_max_threads () != 1) abort ();
  omp_set_max_active_levels (1000000);
  if (omp_get_max_active_levels () != omp_get_supported_active_levels () || omp_get_supported_active_levels () != 255) abort ();
  int small = 0;
#pragma omp parallel num_threads(2) reduction(+ : small)
  {
    pthread_attr_t own;
    size_t bytes;
    pthread_getattr_np (pthread_self (), &own);
    pthread_attr_getstacksize (&own, &bytes);
    small += bytes < 1 << 20;
  }
  if (small) abort ();
  return 0;
}
