/* The handler of wrong arguments for `cargo xtask peers blas-random`: it records them, and the program goes on. Loaded before
   the libraries, so that all of them call this one. The two flags are those by which the reference's C interface tells its handler
   that Fortran's list is meant, and that arguments are exchanged for matrices by rows. */
#include <stddef.h>

int CBLAS_CallFromC, RowMajorStrg;
struct { int calls, position, exchanged; } blas_report;

static void record(int position) {
    if (!blas_report.calls++) {
        blas_report.position = position;
        blas_report.exchanged = RowMajorStrg;
    }
}

void xerbla_(const char *name, const int *position, size_t length) {
    (void)name, (void)length;
    record(*position + (CBLAS_CallFromC != 0));
}

void cblas_xerbla(int position, const char *name, const char *form, ...) {
    (void)name, (void)form;
    record(position);
}
