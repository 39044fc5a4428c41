//! The shapes of level 3, like those of level 2.
use crate::level2::{matrix, matrix_mut};
use crate::site::{Site, sound};
use foregather_blas::{Diag, Error, Matrix, MatrixMut, Order, Scalar, Side, Trans, Uplo};

type Done = Result<(), Error>;

/// Rows and columns of a matrix that enters a product with `rows` and `cols`.
fn stored(trans: Trans, rows: isize, cols: isize) -> (isize, isize) {
    if trans == Trans::No { (rows, cols) } else { (cols, rows) }
}

/// `?gemm`.
pub(crate) unsafe fn gemm<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Trans, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) -> Done,
    transa: Option<Trans>,
    transb: Option<Trans>,
    m: isize,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *const T,
    ldb: isize,
    beta: T,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let (transa, transb) = (at.choice(1, transa)?, at.choice(2, transb)?);
    let ((am, an), (bm, bn)) = (stored(transa, m, k), stored(transb, k, n));
    let leads = [(8, lda < at.lead(am, an)), (10, ldb < at.lead(bm, bn)), (13, ldc < at.lead(m, n))];
    at.check(&[(3, m < 0), (4, n < 0), (5, k < 0)])?;
    at.check(&leads)?;
    if m == 0 || n == 0 {
        return None;
    }
    // By rows the reference computes the transposed product, whose first factor is `b`.
    let first = if at.order() == Order::Columns { transa } else { transb };
    let beta = if k == 0 && first != Trans::No { with_empty_sums(alpha, beta) } else { beta };
    // SAFETY: the standard's arguments, checked.
    unsafe {
        let (a, b, c) = (matrix(at, a, am, an, lda), matrix(at, b, bm, bn, ldb), matrix_mut(at, c, m, n, ldc));
        sound(routine(transa, transb, alpha, a, b, beta, c));
    }
    Some(())
}

/// The factor of the result where sums are empty and the first factor is transposed: there the reference
/// multiplies them by `alpha`, so one that is not finite makes every element NaN. It returns at once if
/// `beta` is one or `alpha` zero.
fn with_empty_sums<T: Scalar>(alpha: T, beta: T) -> T {
    if beta == T::ONE || alpha == T::ZERO { beta } else { beta + alpha * T::ZERO }
}

/// `?gemmtr`: the triangle of a product.
pub(crate) unsafe fn gemmtr<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    transa: Option<Trans>,
    transb: Option<Trans>,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *const T,
    ldb: isize,
    beta: T,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let (uplo, transa, transb) = (at.choice(1, uplo)?, at.choice(2, transa)?, at.choice(3, transb)?);
    let ((am, an), (bm, bn)) = (stored(transa, n, k), stored(transb, k, n));
    let leads = [(8, lda < at.lead(am, an)), (10, ldb < at.lead(bm, bn)), (13, ldc < at.lead(n, n))];
    at.check(&[(4, n < 0), (5, k < 0)])?;
    at.check(&leads)?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    unsafe {
        let (a, b, c) = (matrix(at, a, am, an, lda), matrix(at, b, bm, bn, ldb), matrix_mut(at, c, n, n, ldc));
        sound(routine(uplo, transa, transb, alpha, a, b, beta, c));
    }
    Some(())
}

/// `?symm`, `?hemm`.
pub(crate) unsafe fn symmetric<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Side, Uplo, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) -> Done,
    side: Option<Side>,
    uplo: Option<Uplo>,
    m: isize,
    n: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *const T,
    ldb: isize,
    beta: T,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let (side, uplo) = (at.choice(1, side)?, at.choice(2, uplo)?);
    let order = if side == Side::Left { m } else { n };
    let leads = [(7, lda < at.lead(order, order)), (9, ldb < at.lead(m, n)), (12, ldc < at.lead(m, n))];
    at.check(&[(3, m < 0), (4, n < 0)])?;
    at.check(&leads)?;
    if m == 0 || n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    unsafe {
        let (a, b, c) = (matrix(at, a, order, order, lda), matrix(at, b, m, n, ldb), matrix_mut(at, c, m, n, ldc));
        sound(routine(side, uplo, alpha, a, b, beta, c));
    }
    Some(())
}

/// `?syrk`: complex matrices are not conjugated.
pub(crate) unsafe fn symmetric_rank<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, T, Matrix<'_, T>, T, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    beta: T,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let trans = trans.filter(|trans| *trans != Trans::Conj || !T::COMPLEX);
    // SAFETY: the standard's arguments, which are the contract of `rank_k`, too.
    unsafe { rank_k(at, routine, uplo, trans, n, k, alpha, a, lda, beta, c, ldc) }
}

/// `?herk`: matrices are conjugated if they are transposed.
pub(crate) unsafe fn hermitian_rank<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, T::Real, Matrix<'_, T>, T::Real, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    n: isize,
    k: isize,
    alpha: T::Real,
    a: *const T,
    lda: isize,
    beta: T::Real,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let trans = trans.filter(|trans| *trans != Trans::Yes);
    // SAFETY: the standard's arguments, which are the contract of `rank_k`, too.
    unsafe { rank_k(at, routine, uplo, trans, n, k, alpha, a, lda, beta, c, ldc) }
}

unsafe fn rank_k<S, T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, S, Matrix<'_, T>, S, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    n: isize,
    k: isize,
    alpha: S,
    a: *const T,
    lda: isize,
    beta: S,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let (uplo, trans) = (at.choice(1, uplo)?, at.choice(2, trans)?);
    let (am, an) = stored(trans, n, k);
    at.check(&[(3, n < 0), (4, k < 0), (7, lda < at.lead(am, an)), (10, ldc < at.lead(n, n))])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(uplo, trans, alpha, matrix(at, a, am, an, lda), beta, matrix_mut(at, c, n, n, ldc)) });
    Some(())
}

/// `?syr2k`: complex matrices are not conjugated.
pub(crate) unsafe fn symmetric_rank2<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *const T,
    ldb: isize,
    beta: T,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let trans = trans.filter(|trans| *trans != Trans::Conj || !T::COMPLEX);
    // SAFETY: the standard's arguments, which are the contract of `rank_2k`, too.
    unsafe { rank_2k(at, routine, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc) }
}

/// `?her2k`: matrices are conjugated if they are transposed.
pub(crate) unsafe fn hermitian_rank2<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, T, Matrix<'_, T>, Matrix<'_, T>, T::Real, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *const T,
    ldb: isize,
    beta: T::Real,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let trans = trans.filter(|trans| *trans != Trans::Yes);
    // SAFETY: the standard's arguments, which are the contract of `rank_2k`, too.
    unsafe { rank_2k(at, routine, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc) }
}

unsafe fn rank_2k<S, T: Scalar>(
    at: Site,
    routine: impl FnOnce(Uplo, Trans, T, Matrix<'_, T>, Matrix<'_, T>, S, MatrixMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *const T,
    ldb: isize,
    beta: S,
    c: *mut T,
    ldc: isize,
) -> Option<()> {
    let (uplo, trans) = (at.choice(1, uplo)?, at.choice(2, trans)?);
    let (am, an) = stored(trans, n, k);
    let least = at.lead(am, an);
    at.check(&[(3, n < 0), (4, k < 0), (7, lda < least), (9, ldb < least), (12, ldc < at.lead(n, n))])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    unsafe {
        let (a, b, c) = (matrix(at, a, am, an, lda), matrix(at, b, am, an, ldb), matrix_mut(at, c, n, n, ldc));
        sound(routine(uplo, trans, alpha, a, b, beta, c));
    }
    Some(())
}

/// `?trmm`, `?trsm`.
pub(crate) unsafe fn triangular<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Side, Uplo, Trans, Diag, T, Matrix<'_, T>, MatrixMut<'_, T>) -> Done,
    side: Option<Side>,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    diag: Option<Diag>,
    m: isize,
    n: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    b: *mut T,
    ldb: isize,
) -> Option<()> {
    let (side, uplo) = (at.choice(1, side)?, at.choice(2, uplo)?);
    let (trans, diag) = (at.choice(3, trans)?, at.choice(4, diag)?);
    let order = if side == Side::Left { m } else { n };
    at.check(&[(5, m < 0), (6, n < 0), (9, lda < at.lead(order, order)), (11, ldb < at.lead(m, n))])?;
    if m == 0 || n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(side, uplo, trans, diag, alpha, matrix(at, a, order, order, lda), matrix_mut(at, b, m, n, ldb)) });
    Some(())
}
