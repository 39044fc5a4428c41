//! The shapes of level 3, like those of level 2.
use crate::level2::{matrix, matrix_mut};
use crate::shape::shapes;
use crate::site::{CallSite, sound};
use foregather_blas::{Diag, Error, Matrix, MatrixMut, Order, Scalar, Side, Trans, Uplo};

/// Rows and columns of a matrix that enters a product with `rows` and `cols`.
fn stored(trans: Trans, rows: isize, cols: isize) -> (isize, isize) {
    if trans == Trans::No { (rows, cols) } else { (cols, rows) }
}

/// The factor of the result where sums are empty and the first factor is transposed: there the reference
/// multiplies them by `alpha`, so one that is not finite makes every element NaN. It returns at once if
/// `beta` is one or `alpha` zero.
fn with_empty_sums<T: Scalar>(alpha: T, beta: T) -> T {
    if beta == T::ONE || alpha == T::ZERO { beta } else { beta + alpha * T::ZERO }
}

/// The options of symmetric rank updates: complex matrices are not conjugated.
fn symmetric_options<T: Scalar>(at: CallSite, uplo: Option<Uplo>, trans: Option<Trans>) -> Option<(Uplo, Trans)> {
    let trans = trans.filter(|trans| *trans != Trans::Conj || !T::COMPLEX);
    Some((at.choice(1, uplo)?, at.choice(2, trans)?))
}

/// The options of Hermitian rank updates: matrices are conjugated if they are transposed.
fn hermitian_options(at: CallSite, uplo: Option<Uplo>, trans: Option<Trans>) -> Option<(Uplo, Trans)> {
    Some((at.choice(1, uplo)?, at.choice(2, trans.filter(|trans| *trans != Trans::Yes))?))
}

shapes! { at:
    /// `?gemm`.
    gemm<T>(transa: Option<Trans>, transb: Option<Trans>, m: isize, n: isize, k: isize, alpha: T, a: *const T, lda: isize,
            b: *const T, ldb: isize, beta: T, c: *mut T, ldc: isize)
    for (Trans, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) {
        let (transa, transb) = (at.choice(1, transa)?, at.choice(2, transb)?);
        let ((am, an), (bm, bn)) = (stored(transa, m, k), stored(transb, k, n));
        at.check(&[(3, m < 0), (4, n < 0), (5, k < 0)])?;
        at.check(&[(8, lda < at.lead(am, an)), (10, ldb < at.lead(bm, bn)), (13, ldc < at.lead(m, n))])?;
        if m == 0 || n == 0 { return None; }
        // By rows the reference computes the transposed product, whose first factor is `b`.
        let first = if at.order() == Order::Columns { transa } else { transb };
        let beta = if k == 0 && first != Trans::No { with_empty_sums(alpha, beta) } else { beta };
    } (transa, transb, alpha, matrix(at, a, am, an, lda), matrix(at, b, bm, bn, ldb), beta, matrix_mut(at, c, m, n, ldc));

    /// `?gemmtr`: the triangle of a product.
    gemmtr<T>(uplo: Option<Uplo>, transa: Option<Trans>, transb: Option<Trans>, n: isize, k: isize, alpha: T, a: *const T,
              lda: isize, b: *const T, ldb: isize, beta: T, c: *mut T, ldc: isize)
    for (Uplo, Trans, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) {
        let (uplo, transa, transb) = (at.choice(1, uplo)?, at.choice(2, transa)?, at.choice(3, transb)?);
        let ((am, an), (bm, bn)) = (stored(transa, n, k), stored(transb, k, n));
        at.check(&[(4, n < 0), (5, k < 0)])?;
        at.check(&[(8, lda < at.lead(am, an)), (10, ldb < at.lead(bm, bn)), (13, ldc < at.lead(n, n))])?;
        if n == 0 { return None; }
    } (uplo, transa, transb, alpha, matrix(at, a, am, an, lda), matrix(at, b, bm, bn, ldb), beta, matrix_mut(at, c, n, n, ldc));

    /// `?symm`, `?hemm`.
    symmetric<T>(side: Option<Side>, uplo: Option<Uplo>, m: isize, n: isize, alpha: T, a: *const T, lda: isize,
                 b: *const T, ldb: isize, beta: T, c: *mut T, ldc: isize)
    for (Side, Uplo, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) {
        let (side, uplo) = (at.choice(1, side)?, at.choice(2, uplo)?);
        let order = if side == Side::Left { m } else { n };
        at.check(&[(3, m < 0), (4, n < 0)])?;
        at.check(&[(7, lda < at.lead(order, order)), (9, ldb < at.lead(m, n)), (12, ldc < at.lead(m, n))])?;
        if m == 0 || n == 0 { return None; }
    } (side, uplo, alpha, matrix(at, a, order, order, lda), matrix(at, b, m, n, ldb), beta, matrix_mut(at, c, m, n, ldc));

    /// `?syrk`.
    symmetric_rank<T>(uplo: Option<Uplo>, trans: Option<Trans>, n: isize, k: isize, alpha: T, a: *const T, lda: isize,
                      beta: T, c: *mut T, ldc: isize)
    for (Uplo, Trans, T, Matrix<'_, T>, T, MatrixMut<'_, T>) {
        let (uplo, trans) = symmetric_options::<T>(at, uplo, trans)?;
        let (am, an) = stored(trans, n, k);
        at.check(&[(3, n < 0), (4, k < 0), (7, lda < at.lead(am, an)), (10, ldc < at.lead(n, n))])?;
        if n == 0 { return None; }
    } (uplo, trans, alpha, matrix(at, a, am, an, lda), beta, matrix_mut(at, c, n, n, ldc));

    /// `?herk`.
    hermitian_rank<T>(uplo: Option<Uplo>, trans: Option<Trans>, n: isize, k: isize, alpha: T::Real, a: *const T, lda: isize,
                      beta: T::Real, c: *mut T, ldc: isize)
    for (Uplo, Trans, T::Real, Matrix<'_, T>, T::Real, MatrixMut<'_, T>) {
        let (uplo, trans) = hermitian_options(at, uplo, trans)?;
        let (am, an) = stored(trans, n, k);
        at.check(&[(3, n < 0), (4, k < 0), (7, lda < at.lead(am, an)), (10, ldc < at.lead(n, n))])?;
        if n == 0 { return None; }
    } (uplo, trans, alpha, matrix(at, a, am, an, lda), beta, matrix_mut(at, c, n, n, ldc));

    /// `?syr2k`.
    symmetric_rank2<T>(uplo: Option<Uplo>, trans: Option<Trans>, n: isize, k: isize, alpha: T, a: *const T, lda: isize,
                       b: *const T, ldb: isize, beta: T, c: *mut T, ldc: isize)
    for (Uplo, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) {
        let (uplo, trans) = symmetric_options::<T>(at, uplo, trans)?;
        let (am, an) = stored(trans, n, k);
        let least = at.lead(am, an);
        at.check(&[(3, n < 0), (4, k < 0), (7, lda < least), (9, ldb < least), (12, ldc < at.lead(n, n))])?;
        if n == 0 { return None; }
    } (uplo, trans, alpha, matrix(at, a, am, an, lda), matrix(at, b, am, an, ldb), beta, matrix_mut(at, c, n, n, ldc));

    /// `?her2k`.
    hermitian_rank2<T>(uplo: Option<Uplo>, trans: Option<Trans>, n: isize, k: isize, alpha: T, a: *const T, lda: isize,
                       b: *const T, ldb: isize, beta: T::Real, c: *mut T, ldc: isize)
    for (Uplo, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T::Real, MatrixMut<'_, T>) {
        let (uplo, trans) = hermitian_options(at, uplo, trans)?;
        let (am, an) = stored(trans, n, k);
        let least = at.lead(am, an);
        at.check(&[(3, n < 0), (4, k < 0), (7, lda < least), (9, ldb < least), (12, ldc < at.lead(n, n))])?;
        if n == 0 { return None; }
    } (uplo, trans, alpha, matrix(at, a, am, an, lda), matrix(at, b, am, an, ldb), beta, matrix_mut(at, c, n, n, ldc));

    /// `?trmm`, `?trsm`.
    triangular<T>(side: Option<Side>, uplo: Option<Uplo>, trans: Option<Trans>, diag: Option<Diag>, m: isize, n: isize,
                  alpha: T, a: *const T, lda: isize, b: *mut T, ldb: isize)
    for (Side, Uplo, Trans, Diag, T, Matrix<'_, T>, MatrixMut<'_, T>) {
        let (side, uplo) = (at.choice(1, side)?, at.choice(2, uplo)?);
        let (trans, diag) = (at.choice(3, trans)?, at.choice(4, diag)?);
        let order = if side == Side::Left { m } else { n };
        at.check(&[(5, m < 0), (6, n < 0), (9, lda < at.lead(order, order)), (11, ldb < at.lead(m, n))])?;
        if m == 0 || n == 0 { return None; }
    } (side, uplo, trans, diag, alpha, matrix(at, a, order, order, lda), matrix_mut(at, b, m, n, ldb));
}
