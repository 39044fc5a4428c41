//! The shapes of level 2: arguments are checked in the standard's order, by their positions in its Fortran
//! list; then views of the caller's memory go to the routine. Nothing happens for matrices without elements.
use crate::level1::{input, output};
use crate::site::{Site, sound};
use foregather_blas::{
    Band, Diag, Error, Matrix, MatrixMut, Order, Scalar, Trans, Triangle, TriangleMut, Uplo, Vector, VectorMut,
};

type Done = Result<(), Error>;

/// `?gemv`.
pub(crate) unsafe fn general<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Trans, T, Matrix<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) -> Done,
    trans: Option<Trans>,
    m: isize,
    n: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    x: *const T,
    incx: isize,
    beta: T,
    y: *mut T,
    incy: isize,
) -> Option<()> {
    let trans = at.choice(1, trans)?;
    at.check(&[(2, m < 0), (3, n < 0), (6, lda < at.lead(m, n)), (8, incx == 0), (11, incy == 0)])?;
    if m == 0 || n == 0 {
        return None;
    }
    let (rows, cols) = if trans == Trans::No { (m, n) } else { (n, m) };
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(trans, alpha, matrix(at, a, m, n, lda), input(x, cols, incx), beta, output(y, rows, incy)) });
    Some(())
}

/// `?gbmv`.
pub(crate) unsafe fn band<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Trans, T, Band<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) -> Done,
    trans: Option<Trans>,
    m: isize,
    n: isize,
    kl: isize,
    ku: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    x: *const T,
    incx: isize,
    beta: T,
    y: *mut T,
    incy: isize,
) -> Option<()> {
    let trans = at.choice(1, trans)?;
    let width = kl.saturating_add(ku).saturating_add(1);
    at.check(&[(2, m < 0), (3, n < 0), (4, kl < 0), (5, ku < 0), (8, lda < width), (10, incx == 0), (13, incy == 0)])?;
    if m == 0 || n == 0 {
        return None;
    }
    let (rows, cols) = if trans == Trans::No { (m, n) } else { (n, m) };
    let lines = if at.order() == Order::Columns { n } else { m };
    let (shape, diagonals) = ([m, n].map(isize::unsigned_abs), [kl, ku].map(isize::unsigned_abs));
    // SAFETY: the standard's arguments, checked; by the standard all lines are `lda` long, and the last one
    // may end with the band.
    unsafe {
        let elements = input(a, (lines - 1) * lda + width, 1);
        let a = sound(Band::new(at.order(), elements, shape, diagonals, lda.unsigned_abs()));
        sound(routine(trans, alpha, a, input(x, cols, incx), beta, output(y, rows, incy)));
    }
    Some(())
}

/// `?symv`, `?hemv`.
pub(crate) unsafe fn symmetric<T: Scalar>(
    at: Site,
    routine: impl FnOnce(T, Triangle<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    x: *const T,
    incx: isize,
    beta: T,
    y: *mut T,
    incy: isize,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (5, lda < at.lead(n, n)), (7, incx == 0), (10, incy == 0)])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, full(at, uplo, a, n, lda), input(x, n, incx), beta, output(y, n, incy)) });
    Some(())
}

/// `?sbmv`, `?hbmv`.
pub(crate) unsafe fn symmetric_band<T: Scalar>(
    at: Site,
    routine: impl FnOnce(T, Triangle<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    k: isize,
    alpha: T,
    a: *const T,
    lda: isize,
    x: *const T,
    incx: isize,
    beta: T,
    y: *mut T,
    incy: isize,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (3, k < 0), (6, lda < k.saturating_add(1)), (8, incx == 0), (11, incy == 0)])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, banded(at, uplo, a, n, k, lda), input(x, n, incx), beta, output(y, n, incy)) });
    Some(())
}

/// `?spmv`, `?hpmv`.
pub(crate) unsafe fn symmetric_packed<T: Scalar>(
    at: Site,
    routine: impl FnOnce(T, Triangle<'_, T>, Vector<'_, T>, T, VectorMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    alpha: T,
    a: *const T,
    x: *const T,
    incx: isize,
    beta: T,
    y: *mut T,
    incy: isize,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (6, incx == 0), (9, incy == 0)])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, packed(at, uplo, a, n), input(x, n, incx), beta, output(y, n, incy)) });
    Some(())
}

/// `?trmv`, `?trsv`.
pub(crate) unsafe fn triangular<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Trans, Diag, Triangle<'_, T>, VectorMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    diag: Option<Diag>,
    n: isize,
    a: *const T,
    lda: isize,
    x: *mut T,
    incx: isize,
) -> Option<()> {
    let (uplo, trans, diag) = (at.choice(1, uplo)?, at.choice(2, trans)?, at.choice(3, diag)?);
    at.check(&[(4, n < 0), (6, lda < at.lead(n, n)), (8, incx == 0)])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(trans, diag, full(at, uplo, a, n, lda), output(x, n, incx)) });
    Some(())
}

/// `?tbmv`, `?tbsv`.
pub(crate) unsafe fn triangular_band<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Trans, Diag, Triangle<'_, T>, VectorMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    diag: Option<Diag>,
    n: isize,
    k: isize,
    a: *const T,
    lda: isize,
    x: *mut T,
    incx: isize,
) -> Option<()> {
    let (uplo, trans, diag) = (at.choice(1, uplo)?, at.choice(2, trans)?, at.choice(3, diag)?);
    at.check(&[(4, n < 0), (5, k < 0), (7, lda < k.saturating_add(1)), (9, incx == 0)])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(trans, diag, banded(at, uplo, a, n, k, lda), output(x, n, incx)) });
    Some(())
}

/// `?tpmv`, `?tpsv`.
pub(crate) unsafe fn triangular_packed<T: Scalar>(
    at: Site,
    routine: impl FnOnce(Trans, Diag, Triangle<'_, T>, VectorMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    trans: Option<Trans>,
    diag: Option<Diag>,
    n: isize,
    a: *const T,
    x: *mut T,
    incx: isize,
) -> Option<()> {
    let (uplo, trans, diag) = (at.choice(1, uplo)?, at.choice(2, trans)?, at.choice(3, diag)?);
    at.check(&[(4, n < 0), (7, incx == 0)])?;
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(trans, diag, packed(at, uplo, a, n), output(x, n, incx)) });
    Some(())
}

/// `?ger`, `?geru`, `?gerc`.
pub(crate) unsafe fn outer<T: Scalar>(
    at: Site,
    routine: impl FnOnce(T, Vector<'_, T>, Vector<'_, T>, MatrixMut<'_, T>) -> Done,
    m: isize,
    n: isize,
    alpha: T,
    x: *const T,
    incx: isize,
    y: *const T,
    incy: isize,
    a: *mut T,
    lda: isize,
) -> Option<()> {
    at.check(&[(1, m < 0), (2, n < 0), (5, incx == 0), (7, incy == 0), (9, lda < at.lead(m, n))])?;
    if m == 0 || n == 0 || alpha == T::ZERO {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, input(x, m, incx), input(y, n, incy), matrix_mut(at, a, m, n, lda)) });
    Some(())
}

/// `?syr`, `?her`: `alpha` is real in the latter.
pub(crate) unsafe fn rank1<S: Scalar, T: Scalar>(
    at: Site,
    routine: impl FnOnce(S, Vector<'_, T>, TriangleMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    alpha: S,
    x: *const T,
    incx: isize,
    a: *mut T,
    lda: isize,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (5, incx == 0), (7, lda < at.lead(n, n))])?;
    if n == 0 || alpha == S::ZERO {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, input(x, n, incx), full_mut(at, uplo, a, n, lda)) });
    Some(())
}

/// `?spr`, `?hpr`: `alpha` is real in the latter.
pub(crate) unsafe fn rank1_packed<S: Scalar, T: Scalar>(
    at: Site,
    routine: impl FnOnce(S, Vector<'_, T>, TriangleMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    alpha: S,
    x: *const T,
    incx: isize,
    a: *mut T,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (5, incx == 0)])?;
    if n == 0 || alpha == S::ZERO {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, input(x, n, incx), packed_mut(at, uplo, a, n)) });
    Some(())
}

/// `?syr2`, `?her2`.
pub(crate) unsafe fn rank2<T: Scalar>(
    at: Site,
    routine: impl FnOnce(T, Vector<'_, T>, Vector<'_, T>, TriangleMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    alpha: T,
    x: *const T,
    incx: isize,
    y: *const T,
    incy: isize,
    a: *mut T,
    lda: isize,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (5, incx == 0), (7, incy == 0), (9, lda < at.lead(n, n))])?;
    if n == 0 || alpha == T::ZERO {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, input(x, n, incx), input(y, n, incy), full_mut(at, uplo, a, n, lda)) });
    Some(())
}

/// `?spr2`, `?hpr2`.
pub(crate) unsafe fn rank2_packed<T: Scalar>(
    at: Site,
    routine: impl FnOnce(T, Vector<'_, T>, Vector<'_, T>, TriangleMut<'_, T>) -> Done,
    uplo: Option<Uplo>,
    n: isize,
    alpha: T,
    x: *const T,
    incx: isize,
    y: *const T,
    incy: isize,
    a: *mut T,
) -> Option<()> {
    let uplo = at.choice(1, uplo)?;
    at.check(&[(2, n < 0), (5, incx == 0), (7, incy == 0)])?;
    if n == 0 || alpha == T::ZERO {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    sound(unsafe { routine(alpha, input(x, n, incx), input(y, n, incy), packed_mut(at, uplo, a, n)) });
    Some(())
}

/// The caller's matrix, in the call's order.
///
/// # Safety
/// All elements can be read for `'a` and are not written; sizes and leading dimension have been checked.
pub(crate) unsafe fn matrix<'a, T: Scalar>(at: Site, a: *const T, m: isize, n: isize, lda: isize) -> Matrix<'a, T> {
    // SAFETY: by this function's contract all elements can be read for `'a` and are not written.
    unsafe { Matrix::from_raw(at.order(), a, m.unsigned_abs(), n.unsigned_abs(), lda.unsigned_abs()) }
}

/// The caller's matrix, to be written.
///
/// # Safety
/// All elements can be read and written for `'a`, and only through it; sizes and leading dimension have been
/// checked.
pub(crate) unsafe fn matrix_mut<'a, T: Scalar>(at: Site, a: *mut T, m: isize, n: isize, lda: isize) -> MatrixMut<'a, T> {
    // SAFETY: by this function's contract all elements can be read and written for `'a`, and only through it.
    unsafe { MatrixMut::from_raw(at.order(), a, m.unsigned_abs(), n.unsigned_abs(), lda.unsigned_abs()) }
}

/// One triangle of a square matrix.
///
/// # Safety
/// As [`matrix`].
unsafe fn full<'a, T: Scalar>(at: Site, uplo: Uplo, a: *const T, n: isize, lda: isize) -> Triangle<'a, T> {
    // SAFETY: this function's contract is that of `matrix`.
    sound(Triangle::full(uplo, unsafe { matrix(at, a, n, n, lda) }))
}

/// One triangle of a square matrix, to be written.
///
/// # Safety
/// As [`matrix_mut`].
unsafe fn full_mut<'a, T: Scalar>(at: Site, uplo: Uplo, a: *mut T, n: isize, lda: isize) -> TriangleMut<'a, T> {
    // SAFETY: this function's contract is that of `matrix_mut`.
    sound(TriangleMut::full(uplo, unsafe { matrix_mut(at, a, n, n, lda) }))
}

/// A triangular band.
///
/// # Safety
/// As [`matrix`], for `n` lines of which the last may end with the band. There is one line at least.
unsafe fn banded<'a, T: Scalar>(at: Site, uplo: Uplo, a: *const T, n: isize, k: isize, lda: isize) -> Triangle<'a, T> {
    // SAFETY: by this function's contract the lines are readable, the last one up to the end of the band.
    let elements = unsafe { input(a, (n - 1) * lda + k + 1, 1) };
    sound(Triangle::band(at.order(), uplo, elements, n.unsigned_abs(), k.unsigned_abs(), lda.unsigned_abs()))
}

/// A packed triangle.
///
/// # Safety
/// `n * (n + 1) / 2` elements can be read for `'a` and are not written.
unsafe fn packed<'a, T: Scalar>(at: Site, uplo: Uplo, a: *const T, n: isize) -> Triangle<'a, T> {
    // SAFETY: by this function's contract these elements can be read for `'a` and are not written.
    sound(Triangle::packed(at.order(), uplo, unsafe { input(a, n * (n + 1) / 2, 1) }, n.unsigned_abs()))
}

/// A packed triangle, to be written.
///
/// # Safety
/// `n * (n + 1) / 2` elements can be read and written for `'a`, and only through it.
unsafe fn packed_mut<'a, T: Scalar>(at: Site, uplo: Uplo, a: *mut T, n: isize) -> TriangleMut<'a, T> {
    // SAFETY: by this function's contract these elements can be read and written for `'a`, and only through
    // it.
    sound(TriangleMut::packed(at.order(), uplo, unsafe { output(a, n * (n + 1) / 2, 1) }, n.unsigned_abs()))
}
