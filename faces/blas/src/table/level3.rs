//! Level 3: matrices.
use crate::argument::{ArgumentKind, By, C, Fortran, Int, Letter, Nothing, OptionArg, ReturnKind};
use crate::export::routines;
use crate::{level3, site::CallSite, trace};
use foregather_blas as blas;
use foregather_blas::{Diag, Side, Trans, Uplo, c32, c64};

routines! {
    ordered: level3::gemm => blas::gemm::<T>,
        (transa: OptionArg<Trans>, transb: OptionArg<Trans>, m: Int, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int,
         b: *const T, ldb: Int, beta: By<T>, c: *mut T, ldc: Int) -> Nothing,
        [sgemm f32, dgemm f64, cgemm c32, zgemm c64];
    ordered: level3::gemmtr => blas::gemmtr::<T>,
        (uplo: OptionArg<Uplo>, transa: OptionArg<Trans>, transb: OptionArg<Trans>, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int,
         b: *const T, ldb: Int, beta: By<T>, c: *mut T, ldc: Int) -> Nothing,
        [sgemmtr f32, dgemmtr f64, cgemmtr c32, zgemmtr c64];

    ordered: level3::symmetric => blas::symm::<T>,
        (side: OptionArg<Side>, uplo: OptionArg<Uplo>, m: Int, n: Int, alpha: By<T>, a: *const T, lda: Int,
         b: *const T, ldb: Int, beta: By<T>, c: *mut T, ldc: Int) -> Nothing,
        [ssymm f32, dsymm f64, csymm c32, zsymm c64];
    ordered: level3::symmetric => blas::hemm::<T>,
        (side: OptionArg<Side>, uplo: OptionArg<Uplo>, m: Int, n: Int, alpha: By<T>, a: *const T, lda: Int,
         b: *const T, ldb: Int, beta: By<T>, c: *mut T, ldc: Int) -> Nothing,
        [chemm c32, zhemm c64];

    ordered: level3::symmetric_rank => blas::syrk::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int,
         beta: By<T>, c: *mut T, ldc: Int) -> Nothing,
        [ssyrk f32, dsyrk f64, csyrk c32, zsyrk c64];
    ordered: level3::hermitian_rank => blas::herk::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, n: Int, k: Int, alpha: By<R>, a: *const T, lda: Int,
         beta: By<R>, c: *mut T, ldc: Int) -> Nothing,
        [cherk c32, zherk c64];
    ordered: level3::symmetric_rank2 => blas::syr2k::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int,
         b: *const T, ldb: Int, beta: By<T>, c: *mut T, ldc: Int) -> Nothing,
        [ssyr2k f32, dsyr2k f64, csyr2k c32, zsyr2k c64];
    ordered: level3::hermitian_rank2 => blas::her2k::<T>,
        (uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, n: Int, k: Int, alpha: By<T>, a: *const T, lda: Int,
         b: *const T, ldb: Int, beta: By<R>, c: *mut T, ldc: Int) -> Nothing,
        [cher2k c32, zher2k c64];

    ordered: level3::triangular => blas::trmm::<T>,
        (side: OptionArg<Side>, uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, m: Int, n: Int, alpha: By<T>,
         a: *const T, lda: Int, b: *mut T, ldb: Int) -> Nothing,
        [strmm f32, dtrmm f64, ctrmm c32, ztrmm c64];
    ordered: level3::triangular => blas::trsm::<T>,
        (side: OptionArg<Side>, uplo: OptionArg<Uplo>, trans: OptionArg<Trans>, diag: OptionArg<Diag>, m: Int, n: Int, alpha: By<T>,
         a: *const T, lda: Int, b: *mut T, ldb: Int) -> Nothing,
        [strsm f32, dtrsm f64, ctrsm c32, ztrsm c64];
}
