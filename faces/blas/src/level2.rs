//! The shapes of level 2: arguments are checked in the standard's order, by their positions in its Fortran
//! list; then views of the caller's memory go to the routine. Nothing happens for matrices without elements.
use crate::level1::{input, output};
use crate::shape::shapes;
use crate::site::{CallSite, sound};
use foregather_blas::{
    Band, Diag, Error, Matrix, MatrixMut, Order, Scalar, Trans, Triangle, TriangleMut, Uplo, Vector, VectorMut,
};

shapes! { at:
    /// `?gemv`.
    general<T>(trans: Option<Trans>, m: isize, n: isize, alpha: T, a: *const T, lda: isize, x: *const T, incx: isize, beta: T,
               y: *mut T, incy: isize)
    for (Trans, T, Matrix<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) {
        let trans = at.choice(1, trans)?;
        at.check(&[(2, m < 0), (3, n < 0), (6, lda < at.lead(m, n)), (8, incx == 0), (11, incy == 0)])?;
        if m == 0 || n == 0 { return None; }
        let (rows, cols) = if trans == Trans::No { (m, n) } else { (n, m) };
    } (trans, alpha, matrix(at, a, m, n, lda), input(x, cols, incx), beta, output(y, rows, incy));

    /// `?gbmv`.
    band<T>(trans: Option<Trans>, m: isize, n: isize, kl: isize, ku: isize, alpha: T, a: *const T, lda: isize, x: *const T,
            incx: isize, beta: T, y: *mut T, incy: isize)
    for (Trans, T, Band<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) {
        let trans = at.choice(1, trans)?;
        let width = kl.saturating_add(ku).saturating_add(1);
        at.check(&[(2, m < 0), (3, n < 0), (4, kl < 0), (5, ku < 0), (8, lda < width), (10, incx == 0), (13, incy == 0)])?;
        if m == 0 || n == 0 { return None; }
        let (rows, cols) = if trans == Trans::No { (m, n) } else { (n, m) };
        let lines = if at.order() == Order::Columns { n } else { m };
        let (shape, diagonals) = ([m, n].map(isize::unsigned_abs), [kl, ku].map(isize::unsigned_abs));
        // By the standard all lines are `lda` long, and the last one may end with the band.
    } (trans, alpha, sound(Band::new(at.order(), input(a, (lines - 1) * lda + width, 1), shape, diagonals, lda.unsigned_abs())),
       input(x, cols, incx), beta, output(y, rows, incy));

    /// `?symv`, `?hemv`.
    symmetric<T>(uplo: Option<Uplo>, n: isize, alpha: T, a: *const T, lda: isize, x: *const T, incx: isize, beta: T, y: *mut T,
                 incy: isize)
    for (T, Triangle<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (5, lda < at.lead(n, n)), (7, incx == 0), (10, incy == 0)])?;
        if n == 0 { return None; }
    } (alpha, full(at, uplo, a, n, lda), input(x, n, incx), beta, output(y, n, incy));

    /// `?sbmv`, `?hbmv`.
    symmetric_band<T>(uplo: Option<Uplo>, n: isize, k: isize, alpha: T, a: *const T, lda: isize, x: *const T, incx: isize,
                      beta: T, y: *mut T, incy: isize)
    for (T, Triangle<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (3, k < 0), (6, lda < k.saturating_add(1)), (8, incx == 0), (11, incy == 0)])?;
        if n == 0 { return None; }
    } (alpha, banded(at, uplo, a, n, k, lda), input(x, n, incx), beta, output(y, n, incy));

    /// `?spmv`, `?hpmv`.
    symmetric_packed<T>(uplo: Option<Uplo>, n: isize, alpha: T, a: *const T, x: *const T, incx: isize, beta: T, y: *mut T,
                        incy: isize)
    for (T, Triangle<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (6, incx == 0), (9, incy == 0)])?;
        if n == 0 { return None; }
    } (alpha, packed(at, uplo, a, n), input(x, n, incx), beta, output(y, n, incy));

    /// `?trmv`, `?trsv`.
    triangular<T>(uplo: Option<Uplo>, trans: Option<Trans>, diag: Option<Diag>, n: isize, a: *const T, lda: isize, x: *mut T,
                  incx: isize)
    for (Trans, Diag, Triangle<'_, T>, VectorMut<'_, T>) {
        let (uplo, trans, diag) = (at.choice(1, uplo)?, at.choice(2, trans)?, at.choice(3, diag)?);
        at.check(&[(4, n < 0), (6, lda < at.lead(n, n)), (8, incx == 0)])?;
        if n == 0 { return None; }
    } (trans, diag, full(at, uplo, a, n, lda), output(x, n, incx));

    /// `?tbmv`, `?tbsv`.
    triangular_band<T>(uplo: Option<Uplo>, trans: Option<Trans>, diag: Option<Diag>, n: isize, k: isize, a: *const T,
                       lda: isize, x: *mut T, incx: isize)
    for (Trans, Diag, Triangle<'_, T>, VectorMut<'_, T>) {
        let (uplo, trans, diag) = (at.choice(1, uplo)?, at.choice(2, trans)?, at.choice(3, diag)?);
        at.check(&[(4, n < 0), (5, k < 0), (7, lda < k.saturating_add(1)), (9, incx == 0)])?;
        if n == 0 { return None; }
    } (trans, diag, banded(at, uplo, a, n, k, lda), output(x, n, incx));

    /// `?tpmv`, `?tpsv`.
    triangular_packed<T>(uplo: Option<Uplo>, trans: Option<Trans>, diag: Option<Diag>, n: isize, a: *const T, x: *mut T,
                         incx: isize)
    for (Trans, Diag, Triangle<'_, T>, VectorMut<'_, T>) {
        let (uplo, trans, diag) = (at.choice(1, uplo)?, at.choice(2, trans)?, at.choice(3, diag)?);
        at.check(&[(4, n < 0), (7, incx == 0)])?;
        if n == 0 { return None; }
    } (trans, diag, packed(at, uplo, a, n), output(x, n, incx));

    /// `?ger`, `?geru`, `?gerc`.
    outer<T>(m: isize, n: isize, alpha: T, x: *const T, incx: isize, y: *const T, incy: isize, a: *mut T, lda: isize)
    for (T, Vector<'_, T>, Vector<'_, T>, MatrixMut<'_, T>) {
        at.check(&[(1, m < 0), (2, n < 0), (5, incx == 0), (7, incy == 0), (9, lda < at.lead(m, n))])?;
        if m == 0 || n == 0 || alpha == T::ZERO { return None; }
    } (alpha, input(x, m, incx), input(y, n, incy), matrix_mut(at, a, m, n, lda));

    /// `?syr`, `?her`: `alpha` is real in the latter.
    rank1<S, T>(uplo: Option<Uplo>, n: isize, alpha: S, x: *const T, incx: isize, a: *mut T, lda: isize)
    for (S, Vector<'_, T>, TriangleMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (5, incx == 0), (7, lda < at.lead(n, n))])?;
        if n == 0 || alpha == S::ZERO { return None; }
    } (alpha, input(x, n, incx), full_mut(at, uplo, a, n, lda));

    /// `?spr`, `?hpr`: `alpha` is real in the latter.
    rank1_packed<S, T>(uplo: Option<Uplo>, n: isize, alpha: S, x: *const T, incx: isize, a: *mut T)
    for (S, Vector<'_, T>, TriangleMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (5, incx == 0)])?;
        if n == 0 || alpha == S::ZERO { return None; }
    } (alpha, input(x, n, incx), packed_mut(at, uplo, a, n));

    /// `?syr2`, `?her2`.
    rank2<T>(uplo: Option<Uplo>, n: isize, alpha: T, x: *const T, incx: isize, y: *const T, incy: isize, a: *mut T, lda: isize)
    for (T, Vector<'_, T>, Vector<'_, T>, TriangleMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (5, incx == 0), (7, incy == 0), (9, lda < at.lead(n, n))])?;
        if n == 0 || alpha == T::ZERO { return None; }
    } (alpha, input(x, n, incx), input(y, n, incy), full_mut(at, uplo, a, n, lda));

    /// `?spr2`, `?hpr2`.
    rank2_packed<T>(uplo: Option<Uplo>, n: isize, alpha: T, x: *const T, incx: isize, y: *const T, incy: isize, a: *mut T)
    for (T, Vector<'_, T>, Vector<'_, T>, TriangleMut<'_, T>) {
        let uplo = at.choice(1, uplo)?;
        at.check(&[(2, n < 0), (5, incx == 0), (7, incy == 0)])?;
        if n == 0 || alpha == T::ZERO { return None; }
    } (alpha, input(x, n, incx), input(y, n, incy), packed_mut(at, uplo, a, n));
}

/// The caller's matrix, in the call's order.
///
/// # Safety
/// All elements can be read for `'a` and are not written; sizes and leading dimension have been checked.
pub(crate) unsafe fn matrix<'a, T: Scalar>(at: CallSite, a: *const T, m: isize, n: isize, lda: isize) -> Matrix<'a, T> {
    // SAFETY: by this function's contract all elements can be read for `'a` and are not written.
    unsafe { Matrix::from_raw(at.order(), a, m.unsigned_abs(), n.unsigned_abs(), lda.unsigned_abs()) }
}

/// The caller's matrix, to be written.
///
/// # Safety
/// All elements can be read and written for `'a`, and only through it; sizes and leading dimension have been
/// checked.
pub(crate) unsafe fn matrix_mut<'a, T: Scalar>(at: CallSite, a: *mut T, m: isize, n: isize, lda: isize) -> MatrixMut<'a, T> {
    // SAFETY: by this function's contract all elements can be read and written for `'a`, and only through it.
    unsafe { MatrixMut::from_raw(at.order(), a, m.unsigned_abs(), n.unsigned_abs(), lda.unsigned_abs()) }
}

/// One triangle of a square matrix.
///
/// # Safety
/// As [`matrix`].
unsafe fn full<'a, T: Scalar>(at: CallSite, uplo: Uplo, a: *const T, n: isize, lda: isize) -> Triangle<'a, T> {
    // SAFETY: this function's contract is that of `matrix`.
    sound(Triangle::full(uplo, unsafe { matrix(at, a, n, n, lda) }))
}

/// One triangle of a square matrix, to be written.
///
/// # Safety
/// As [`matrix_mut`].
unsafe fn full_mut<'a, T: Scalar>(at: CallSite, uplo: Uplo, a: *mut T, n: isize, lda: isize) -> TriangleMut<'a, T> {
    // SAFETY: this function's contract is that of `matrix_mut`.
    sound(TriangleMut::full(uplo, unsafe { matrix_mut(at, a, n, n, lda) }))
}

/// A triangular band.
///
/// # Safety
/// As [`matrix`], for `n` lines of which the last may end with the band. There is one line at least.
unsafe fn banded<'a, T: Scalar>(at: CallSite, uplo: Uplo, a: *const T, n: isize, k: isize, lda: isize) -> Triangle<'a, T> {
    // SAFETY: by this function's contract the lines are readable, the last one up to the end of the band.
    let elements = unsafe { input(a, (n - 1) * lda + k + 1, 1) };
    sound(Triangle::band(at.order(), uplo, elements, n.unsigned_abs(), k.unsigned_abs(), lda.unsigned_abs()))
}

/// A packed triangle.
///
/// # Safety
/// `n * (n + 1) / 2` elements can be read for `'a` and are not written.
unsafe fn packed<'a, T: Scalar>(at: CallSite, uplo: Uplo, a: *const T, n: isize) -> Triangle<'a, T> {
    // SAFETY: by this function's contract these elements can be read for `'a` and are not written.
    sound(Triangle::packed(at.order(), uplo, unsafe { input(a, n * (n + 1) / 2, 1) }, n.unsigned_abs()))
}

/// A packed triangle, to be written.
///
/// # Safety
/// `n * (n + 1) / 2` elements can be read and written for `'a`, and only through it.
unsafe fn packed_mut<'a, T: Scalar>(at: CallSite, uplo: Uplo, a: *mut T, n: isize) -> TriangleMut<'a, T> {
    // SAFETY: by this function's contract these elements can be read and written for `'a`, and only through
    // it.
    sound(TriangleMut::packed(at.order(), uplo, unsafe { output(a, n * (n + 1) / 2, 1) }, n.unsigned_abs()))
}
