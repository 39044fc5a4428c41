/* { dg-do run } */
/* { dg-additional-options "-pthread" } */
/* While one thread opens the first region of its process another one forks, and the child opens a region, too. */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int region (void) {
  int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
  n++;
  return n;
}

static void *forks (void *after_us) {
  usleep (*(useconds_t *) after_us);
  int status;
  pid_t child = fork ();
  if (child == 0) {
    alarm (5);
    _exit (region () != 3);
  }
  waitpid (child, &status, 0);
  return (void *) (long) (status != 0);
}

int main (void) {
  for (useconds_t us = 0; us < 600; us += 20) {
    int status;
    pid_t process = fork ();
    if (process == 0) {
      pthread_t thread;
      void *failed;
      pthread_create (&thread, 0, forks, &us);
      int n = region ();
      pthread_join (thread, &failed);
      _exit (failed != 0 || n != 3);
    }
    waitpid (process, &status, 0);
    if (status != 0) abort ();
  }
  return 0;
}
