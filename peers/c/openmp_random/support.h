/* What the programs of `cargo xtask peers openmp-random` share: the numbers that they print, and the ways in
   which they call parts of themselves. */
#ifndef SUPPORT_H
#define SUPPORT_H
#include <omp.h>
#include <stdlib.h>
#ifdef __cplusplus
extern "C" {
#endif
#define CELLS 4096
/* Printed and set to 0 after each body. */
extern long long sums[4], guarded[7], cells[CELLS];
/* Never printed. */
extern long long junk[1];
extern omp_lock_t locks[2];
extern omp_nest_lock_t nest_locks[2];
/* Where loops over unsigned numbers begin: beyond all that are signed. */
/* Not a constant, or the compiler would take signed numbers where they do. */
extern unsigned long long TOP;
/* Operators by name, as Fortran has no signs for all of them. */
static inline long long most(long long a, long long b) { return a > b ? a : b; }
static inline long long least(long long a, long long b) { return a < b ? a : b; }
static inline long long either(long long a, long long b) { return a | b; }
static inline long long both(long long a, long long b) { return a & b; }
static inline long long differ(long long a, long long b) { return a ^ b; }
static inline long long mix(long long a, long long b) { return (a + b) % 1000003; }
static inline long long whole(long double a) { return (long long)a; }
static long long kept;
#pragma omp threadprivate(kept)
#pragma omp declare reduction(mixed : long long : omp_out = mix(omp_out, omp_in)) initializer(omp_priv = 0)
/* Set twice and unset twice. */
void set_twice(omp_nest_lock_t *lock);
void unset_twice(omp_nest_lock_t *lock);
void begin(void);
void finish(int body);
void nap(long long us);
/* How many of the blocks of `chunk` cells from `from` on hold different numbers. */
long long torn(long long from, long long count, long long chunk);
/* How many runs of equal cells are shorter than `chunk`, the last one left out. */
long long short_runs(long long from, long long count, long long chunk);
void clear(long long from, long long count);
typedef void part(long long given);
/* One after the other and at once. */
void on_one_thread(part *part, long long given);
void on_three_threads(part *part, long long given);
/* Adds the child's exit code, which is the sum of its numbers, to the sums. */
void in_child(part *part, long long given);
void at_exit(part *part, long long given);
void in_plugin(const char *name, long long given);
void leave(long long code);
/* A part is found by its name in a plugin, and by none in the program. */
#define HIDDEN __attribute__((noinline))
#ifdef __cplusplus
}
#endif
#endif
