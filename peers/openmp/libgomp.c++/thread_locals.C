// { dg-do run }
// Members have thread_local objects whose destructors use a static object.
#include <unistd.h>
struct Static { bool alive = true; ~Static () { alive = false; usleep (30000); } };
static Static shared;
struct Local { int n = 0; ~Local () { if (!shared.alive) _exit (7); } };
static thread_local Local local;

int main () {
#pragma omp parallel num_threads(4)
  local.n++;
}
