//! The shapes of level 1: how its routines use their arguments. Nothing is an error here; by the standard
//! these routines do nothing if there are no elements, and some of them if the increment is not positive.
use crate::shape::shapes;
use crate::site::{CallSite, sound};
use foregather_blas::{Error, Real, Scalar, Vector, VectorMut};

type Done = Result<(), Error>;

/// The caller's vector, to be read. No elements if there are fewer than one.
///
/// # Safety
/// All elements can be read for `'a` and are not written except through it.
pub(crate) unsafe fn input<'a, T: Scalar>(x: *const T, n: isize, inc: isize) -> Vector<'a, T> {
    // SAFETY: by this function's contract all elements can be read for `'a` and are not written.
    unsafe { Vector::from_raw(x, n.max(0).unsigned_abs(), inc) }
}

/// The caller's vector, to be written.
///
/// # Safety
/// All elements can be read and written for `'a`, and only through it.
pub(crate) unsafe fn output<'a, T: Scalar>(x: *mut T, n: isize, inc: isize) -> VectorMut<'a, T> {
    // SAFETY: by this function's contract all elements can be read and written for `'a`, and only through it.
    unsafe { VectorMut::from_raw(x, n.max(0).unsigned_abs(), inc) }
}

shapes! { _at:
    /// `?copy`.
    copy<T>(n: isize, x: *const T, incx: isize, y: *mut T, incy: isize)
    for (Vector<'_, T>, VectorMut<'_, T>) {} (input(x, n, incx), output(y, n, incy));

    /// `?swap`.
    swap<T>(n: isize, x: *mut T, incx: isize, y: *mut T, incy: isize)
    for (VectorMut<'_, T>, VectorMut<'_, T>) {} (output(x, n, incx), output(y, n, incy));

    /// `?axpy`.
    #[inline(always)]
    axpy<T>(n: isize, alpha: T, x: *const T, incx: isize, y: *mut T, incy: isize)
    for (T, Vector<'_, T>, VectorMut<'_, T>) {
        if alpha == T::ZERO { return Some(()); }
    } (alpha, input(x, n, incx), output(y, n, incy));

    /// `?axpby`.
    axpby<T>(n: isize, alpha: T, x: *const T, incx: isize, beta: T, y: *mut T, incy: isize)
    for (T, Vector<'_, T>, T, VectorMut<'_, T>) {} (alpha, input(x, n, incx), beta, output(y, n, incy));

    /// `?rot`, `csrot`, `zdrot`.
    rot<T>(n: isize, x: *mut T, incx: isize, y: *mut T, incy: isize, c: T::Real, s: T::Real)
    for (VectorMut<'_, T>, VectorMut<'_, T>, T::Real, T::Real) {} (output(x, n, incx), output(y, n, incy), c, s);
}

/// `?scal`, `csscal`, `zdscal`. The standard wants a positive increment.
pub(crate) unsafe fn scal<S, T: Scalar>(
    _: CallSite,
    routine: impl FnOnce(S, VectorMut<'_, T>),
    n: isize,
    alpha: S,
    x: *mut T,
    incx: isize,
) -> Option<()> {
    if incx > 0 {
        // SAFETY: the standard's arguments.
        routine(alpha, unsafe { output(x, n, incx) });
    }
    Some(())
}

/// `?rotg`: the rotation goes where the caller wants it.
pub(crate) unsafe fn rotg<T: Scalar>(
    _: CallSite,
    routine: impl FnOnce(&mut T, &mut T) -> (T::Real, T),
    a: *mut T,
    b: *mut T,
    c: *mut T::Real,
    s: *mut T,
) -> Option<()> {
    // SAFETY: the standard's arguments; copies, since the caller may have given one place twice.
    unsafe {
        let (mut r, mut z) = (*a, *b);
        (*c, *s) = routine(&mut r, &mut z);
        *a = r;
        // Complex rotations only read `b`, which may lie in a constant.
        if !T::COMPLEX {
            *b = z;
        }
    }
    Some(())
}

/// `?rotm`.
pub(crate) unsafe fn rotm<R: Real>(
    _: CallSite,
    routine: impl FnOnce(VectorMut<'_, R>, VectorMut<'_, R>, &[R; 5]) -> Done,
    n: isize,
    x: *mut R,
    incx: isize,
    y: *mut R,
    incy: isize,
    param: *const R,
) -> Option<()> {
    let mut all = [R::ZERO; 5];
    // SAFETY: the standard's arguments. Elements that the flag implies need not exist, so they are not read.
    unsafe {
        all[0] = *param;
        for &at in given(all[0]) {
            all[at] = *param.add(at);
        }
        sound(routine(output(x, n, incx), output(y, n, incy), &all));
    }
    Some(())
}

/// `?rotmg`.
pub(crate) unsafe fn rotmg<R: Real>(
    _: CallSite,
    routine: impl FnOnce(&mut R, &mut R, &mut R, R) -> [R; 5],
    d1: *mut R,
    d2: *mut R,
    x1: *mut R,
    y1: R,
    param: *mut R,
) -> Option<()> {
    // SAFETY: the standard's arguments. Elements that the flag implies are not written.
    unsafe {
        let (mut p, mut q, mut x) = (*d1, *d2, *x1);
        let all = routine(&mut p, &mut q, &mut x, y1);
        (*d1, *d2, *x1) = (p, q, x);
        *param = all[0];
        for &at in given(all[0]) {
            *param.add(at) = all[at];
        }
    }
    Some(())
}

/// The elements of a modified rotation's parameters that the flag does not imply: flag, h11, h21, h12, h22.
fn given<R: Real>(flag: R) -> &'static [usize] {
    if flag == -R::ONE - R::ONE {
        &[]
    } else if flag < R::ZERO {
        &[1, 2, 3, 4]
    } else if flag == R::ZERO {
        &[2, 3]
    } else {
        &[1, 4]
    }
}

/// `?dot`, `?dotu`, `?dotc`, `dsdot`.
#[inline(always)]
pub(crate) unsafe fn dot<T: Scalar, V: Scalar>(
    _: CallSite,
    routine: impl FnOnce(Vector<'_, T>, Vector<'_, T>) -> Result<V, Error>,
    n: isize,
    x: *const T,
    incx: isize,
    y: *const T,
    incy: isize,
) -> V {
    // SAFETY: the standard's arguments.
    sound(unsafe { routine(input(x, n, incx), input(y, n, incy)) })
}

/// `cblas_?dotu_sub`, `cblas_?dotc_sub`: named when C had no complex type to return.
pub(crate) unsafe fn dot_into<T: Scalar>(
    at: CallSite,
    routine: impl FnOnce(Vector<'_, T>, Vector<'_, T>) -> Result<T, Error>,
    n: isize,
    x: *const T,
    incx: isize,
    y: *const T,
    incy: isize,
    into: *mut T,
) -> Option<()> {
    // SAFETY: the standard's arguments.
    unsafe { *into = dot(at, routine, n, x, incx, y, incy) };
    Some(())
}

/// `sdsdot`.
pub(crate) unsafe fn dot_plus<T: Scalar>(
    _: CallSite,
    routine: impl FnOnce(T, Vector<'_, T>, Vector<'_, T>) -> Result<T, Error>,
    n: isize,
    b: T,
    x: *const T,
    incx: isize,
    y: *const T,
    incy: isize,
) -> T {
    // SAFETY: the standard's arguments.
    sound(unsafe { routine(b, input(x, n, incx), input(y, n, incy)) })
}

/// `?nrm2`: any increment, by the newer definition.
pub(crate) unsafe fn nrm2<T: Scalar>(
    _: CallSite,
    routine: impl FnOnce(Vector<'_, T>) -> T::Real,
    n: isize,
    x: *const T,
    incx: isize,
) -> T::Real {
    // SAFETY: the standard's arguments.
    routine(unsafe { input(x, n, incx) })
}

/// `?asum`. The standard wants a positive increment.
pub(crate) unsafe fn asum<T: Scalar>(
    _: CallSite,
    routine: impl FnOnce(Vector<'_, T>) -> T::Real,
    n: isize,
    x: *const T,
    incx: isize,
) -> T::Real {
    let n = if incx > 0 { n } else { 0 };
    // SAFETY: the standard's arguments.
    routine(unsafe { input(x, n, incx) })
}

/// `i?amax`. The standard wants a positive increment.
pub(crate) unsafe fn iamax<T: Scalar>(
    _: CallSite,
    routine: impl FnOnce(Vector<'_, T>) -> Option<usize>,
    n: isize,
    x: *const T,
    incx: isize,
) -> Option<usize> {
    let n = if incx > 0 { n } else { 0 };
    // SAFETY: the standard's arguments.
    routine(unsafe { input(x, n, incx) })
}

/// `scabs1`, `dcabs1`: the size of one number.
pub(crate) unsafe fn cabs1<T: Scalar>(_: CallSite, routine: impl FnOnce(T) -> T::Real, z: T) -> T::Real {
    routine(z)
}
