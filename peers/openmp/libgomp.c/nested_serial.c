/* { dg-do run } */
/* A recursive function with a region of one thread at each level. */
#include <omp.h>
#include <stdlib.h>

static int level (int more) {
  int deepest = 0;
  if (more == 0) return omp_get_level ();
#pragma omp parallel num_threads(1) shared(deepest)
  deepest = level (more - 1);
  return deepest;
}

int main (void) {
  if (level (20000) != 20000 || level (3) != 3) abort ();
  return 0;
}
