//! The LAPACK factorisations that a team computes together. LAPACK's other routines call them by their
//! symbols, so no other routine is needed here.
use crate::argument::{ArgumentKind, Fortran, Int, Ints, Nothing, OptionArg, ReturnKind};
use crate::export::routines;
use crate::{lapack, site::CallSite, trace};
use foregather_blas as blas;
use foregather_blas::{Uplo, c32, c64};

routines! {
    fortran: lapack::getrf => blas::lu::<T>,
        (m: Int, n: Int, a: *mut T, lda: Int, pivots: Ints, info: Ints) -> Nothing,
        [sgetrf f32, dgetrf f64, cgetrf c32, zgetrf c64];
    fortran: lapack::potrf => blas::cholesky::<T>,
        (uplo: OptionArg<Uplo>, n: Int, a: *mut T, lda: Int, info: Ints) -> Nothing,
        [spotrf f32, dpotrf f64, cpotrf c32, zpotrf c64];
    fortran: lapack::geqrf => blas::qr::<T>,
        (m: Int, n: Int, a: *mut T, lda: Int, tau: *mut T, work: *mut T, lwork: Int, info: Ints) -> Nothing,
        [sgeqrf f32, dgeqrf f64, cgeqrf c32, zgeqrf c64];
}
