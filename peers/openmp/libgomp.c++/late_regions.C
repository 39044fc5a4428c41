// { dg-do run }
// Regions in destructors of static objects and in atexit handlers.
#include <cstdlib>
#include <omp.h>
#include <unistd.h>

static int members () {
  int n = 0;
#pragma omp parallel num_threads(4) reduction(+ : n)
  {
    n++;
#pragma omp critical(late)
    n += 10;
#pragma omp single
#pragma omp taskloop
    for (int i = 0; i < 64; i++) { volatile int work = i; (void) work; }
  }
  return n;
}
static void check () { if (members () != 44) _exit (1); }
struct Late {
  omp_lock_t lock;
  Late () { omp_init_lock (&lock); check (); }
  ~Late () { omp_set_lock (&lock); check (); omp_unset_lock (&lock); omp_destroy_lock (&lock); }
};
static Late late;

int main () {
  std::atexit (check);
  check ();
}
