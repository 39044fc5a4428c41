/* { dg-do run } */
/* { dg-set-target-env-var OMP_CANCELLATION "true" } */
/* Cancels each construct in turn, and counts the work of those that follow. */
#include <omp.h>
#include <stdlib.h>

static int dynamic_loop (void) { int n = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : n) num_threads(4)
  for (int i = 0; i < 60; i++) n++;
  return n; }
static int guided_loop (void) { int n = 0;
#pragma omp parallel for schedule(guided, 3) reduction(+ : n) num_threads(4)
  for (int i = 0; i < 60; i++) n++;
  return n; }
static int static_loop (void) { int n = 0;
#pragma omp parallel for schedule(static, 2) reduction(+ : n) num_threads(4)
  for (int i = 0; i < 60; i++) n++;
  return n; }
static int sections (void) { int n = 0;
#pragma omp parallel sections reduction(+ : n) num_threads(4)
  {
#pragma omp section
    n += 20;
#pragma omp section
    n += 40;
  }
  return n; }
static int tasks (void) { int n = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int i = 0; i < 60; i++)
#pragma omp task shared(n)
    {
#pragma omp atomic
      n++;
    }
  return n; }
static int several (void) { int n = 0;
#pragma omp parallel num_threads(4) reduction(+ : n)
  {
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 20; i++) n++;
#pragma omp for schedule(guided)
    for (int i = 0; i < 20; i++) n++;
#pragma omp sections
    {
#pragma omp section
      n += 20;
    }
  }
  return n; }
static int (*const all[]) (void) = { dynamic_loop, guided_loop, static_loop, sections, tasks, several };

static void cancel_loop (int ordered) {
  if (ordered) {
#pragma omp parallel for ordered schedule(dynamic) num_threads(4)
    for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (i == 7)
#pragma omp ordered
      ;
    }
  } else {
#pragma omp parallel for schedule(dynamic) num_threads(4)
    for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (i == 7)
#pragma omp cancellation point for
    }
  }
}
static void cancel_sections (void) {
#pragma omp parallel sections num_threads(4)
  {
#pragma omp section
    {
#pragma omp cancel sections
    }
#pragma omp section
    {
#pragma omp cancellation point sections
    }
  }
}
static void cancel_region (void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp cancel parallel if (omp_get_thread_num () == 1)
#pragma omp barrier
  }
}
static void cancel_group (void) {
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskgroup
  for (int i = 0; i < 50; i++)
#pragma omp task
    {
#pragma omp cancel taskgroup if (i == 5)
    }
}
/* A loop of a region whose other loops go on after it. */
static void cancel_within (void) {
  int after = 0;
#pragma omp parallel num_threads(4) reduction(+ : after)
  for (int round = 0; round < 3; round++) {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (i == 3)
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 40; i++) after++;
  }
  if (after != 120) abort ();
}

int main (void) {
  if (!omp_get_cancellation ()) abort ();
  for (int round = 0; round < 12; round++) {
    switch (round % 6) {
      case 0: cancel_loop (0); break;
      case 1: cancel_loop (1); break;
      case 2: cancel_sections (); break;
      case 3: cancel_region (); break;
      case 4: cancel_group (); break;
      default: cancel_within ();
    }
    for (unsigned which = 0; which < sizeof all / sizeof *all; which++)
      if (all[which] () != 60) abort ();
  }
  return 0;
}
