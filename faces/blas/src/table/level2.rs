//! Level 2: a matrix and vectors.
use crate::argument::{ArgumentKind, By, C, Fortran, Int, Letter, Nothing, OptionArg, ReturnKind};
use crate::export::routines;
use crate::{level2, site::CallSite, trace};
use foregather_blas as blas;
use foregather_blas::{Diag, Trans, Uplo, c32, c64};

routines! {
    ordered: level2::general => blas::gemv::<T>,
        (trans: OptionArg<Trans>, m: Int, n: Int, alpha: By<T>, a: *const T, lda: Int, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [sgemv f32, dgemv f64, cgemv c32, zgemv c64];
    ordered: level2::band => blas::gbmv::<T>,
        (trans: OptionArg<Trans>, m: Int, n: Int, kl: Int, ku: Int, alpha: By<T>, a: *const T, lda: Int,
         x: *const T, incx: Int, beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [sgbmv f32, dgbmv f64, cgbmv c32, zgbmv c64];

    ordered: level2::symmetric => blas::symv::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, a: *const T, lda: Int, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [ssymv f32, dsymv f64];
    ordered: level2::symmetric => blas::hemv::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, a: *const T, lda: Int, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [chemv c32, zhemv c64];
    ordered: level2::symmetric_band => blas::symv::<T>,
        (uplo: OptionArg<Uplo>, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [ssbmv f32, dsbmv f64];
    ordered: level2::symmetric_band => blas::hemv::<T>,
        (uplo: OptionArg<Uplo>, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [chbmv c32, zhbmv c64];
    ordered: level2::symmetric_packed => blas::symv::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, a: *const T, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [sspmv f32, dspmv f64];
    ordered: level2::symmetric_packed => blas::hemv::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, a: *const T, x: *const T, incx: Int,
         beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [chpmv c32, zhpmv c64];

    ordered: level2::triangular => blas::trmv::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, n: Int, a: *const T, lda: Int,
         x: *mut T, incx: Int) -> Nothing,
        [strmv f32, dtrmv f64, ctrmv c32, ztrmv c64];
    ordered: level2::triangular => blas::trsv::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, n: Int, a: *const T, lda: Int,
         x: *mut T, incx: Int) -> Nothing,
        [strsv f32, dtrsv f64, ctrsv c32, ztrsv c64];
    ordered: level2::triangular_band => blas::trmv::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, n: Int, k: Int, a: *const T, lda: Int,
         x: *mut T, incx: Int) -> Nothing,
        [stbmv f32, dtbmv f64, ctbmv c32, ztbmv c64];
    ordered: level2::triangular_band => blas::trsv::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, n: Int, k: Int, a: *const T, lda: Int,
         x: *mut T, incx: Int) -> Nothing,
        [stbsv f32, dtbsv f64, ctbsv c32, ztbsv c64];
    ordered: level2::triangular_packed => blas::trmv::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, n: Int, a: *const T,
         x: *mut T, incx: Int) -> Nothing,
        [stpmv f32, dtpmv f64, ctpmv c32, ztpmv c64];
    ordered: level2::triangular_packed => blas::trsv::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, n: Int, a: *const T,
         x: *mut T, incx: Int) -> Nothing,
        [stpsv f32, dtpsv f64, ctpsv c32, ztpsv c64];

    ordered: level2::outer => blas::geru::<T>,
        (m: Int, n: Int, alpha: By<T>, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) -> Nothing,
        [sger f32, dger f64, cgeru c32, zgeru c64];
    ordered: level2::outer => blas::gerc::<T>,
        (m: Int, n: Int, alpha: By<T>, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) -> Nothing,
        [cgerc c32, zgerc c64];

    ordered: level2::rank1 => blas::syr::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, x: *const T, incx: Int, a: *mut T, lda: Int) -> Nothing,
        [ssyr f32, dsyr f64];
    ordered: level2::rank1 => blas::her::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<R>, x: *const T, incx: Int, a: *mut T, lda: Int) -> Nothing,
        [cher c32, zher c64];
    ordered: level2::rank1_packed => blas::syr::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, x: *const T, incx: Int, a: *mut T) -> Nothing,
        [sspr f32, dspr f64];
    ordered: level2::rank1_packed => blas::her::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<R>, x: *const T, incx: Int, a: *mut T) -> Nothing,
        [chpr c32, zhpr c64];
    ordered: level2::rank2 => blas::syr2::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) -> Nothing,
        [ssyr2 f32, dsyr2 f64];
    ordered: level2::rank2 => blas::her2::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) -> Nothing,
        [cher2 c32, zher2 c64];
    ordered: level2::rank2_packed => blas::syr2::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T) -> Nothing,
        [sspr2 f32, dspr2 f64];
    ordered: level2::rank2_packed => blas::her2::<T>,
        (uplo: OptionArg<Uplo>, n: Int, alpha: By<T>, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T) -> Nothing,
        [chpr2 c32, zhpr2 c64];
}
