//! The shapes of LAPACK's factorisations. `info` is the outcome: nought, minus the position of a wrong
//! argument, or the step from 1 at which the factorisation failed.
use crate::argument::Integer;
use crate::level2::matrix_mut;
use crate::site::{CallSite, sound};
use foregather_blas::{Error, Lu, MatrixMut, Real, Scalar, Uplo};

/// The columns of a block in the reference LAPACK. A workspace query answers by it: programs allocate a
/// work area of that length, and may pass it to other routines.
const REFERENCE_BLOCK: isize = 32;

/// Writes the outcome for the first of these that is true, reports it, and returns `None`.
///
/// # Safety
/// `info` can be written.
unsafe fn check<I: Integer>(at: CallSite, wrong: &[(u32, bool)], info: *mut I) -> Option<()> {
    let first = wrong.iter().find(|(_, wrong)| *wrong).map_or(0, |(position, _)| *position);
    // SAFETY: by this function's contract.
    unsafe { *info = I::wrong(first) };
    at.check(wrong)
}

/// `?getrf`.
pub(crate) unsafe fn getrf<T: Scalar, I: Integer>(
    at: CallSite,
    routine: impl FnOnce(MatrixMut<'_, T>) -> Lu,
    m: isize,
    n: isize,
    a: *mut T,
    lda: isize,
    pivots: *mut I,
    info: *mut I,
) -> Option<()> {
    // SAFETY: the standard's arguments: `info` is an integer.
    unsafe { check(at, &[(1, m < 0), (2, n < 0), (4, lda < 1.max(m))], info)? };
    if m == 0 || n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    let Lu { pivots: found, singular } = routine(unsafe { matrix_mut(at, a, m, n, lda) });
    for (step, pivot) in found.into_iter().enumerate() {
        // SAFETY: there is a pivot for each row or column, whichever are fewer; they need not be aligned
        // for a slice.
        unsafe { *pivots.add(step) = I::position(pivot + 1) };
    }
    // SAFETY: the standard's arguments.
    unsafe { *info = I::position(singular.map_or(0, |step| step + 1)) };
    Some(())
}

/// `?potrf`.
pub(crate) unsafe fn potrf<T: Scalar, I: Integer>(
    at: CallSite,
    routine: impl FnOnce(Uplo, MatrixMut<'_, T>) -> Result<Option<usize>, Error>,
    uplo: Option<Uplo>,
    n: isize,
    a: *mut T,
    lda: isize,
    info: *mut I,
) -> Option<()> {
    // SAFETY: the standard's arguments: `info` is an integer.
    unsafe { check(at, &[(1, uplo.is_none()), (2, n < 0), (4, lda < 1.max(n))], info)? };
    if n == 0 {
        return None;
    }
    // SAFETY: the standard's arguments, checked.
    let failed = sound(routine(uplo?, unsafe { matrix_mut(at, a, n, n, lda) }));
    // SAFETY: the standard's arguments.
    unsafe { *info = I::position(failed.map_or(0, |step| step + 1)) };
    Some(())
}

/// `?geqrf`. Of `work` only the first element is used: what the reference would like to have there.
pub(crate) unsafe fn geqrf<T: Scalar, I: Integer>(
    at: CallSite,
    routine: impl FnOnce(MatrixMut<'_, T>, &mut [T]) -> Result<(), Error>,
    m: isize,
    n: isize,
    a: *mut T,
    lda: isize,
    tau: *mut T,
    work: *mut T,
    lwork: isize,
    info: *mut I,
) -> Option<()> {
    let is_query = lwork == -1;
    let is_short = lwork <= 0 || (m > 0 && lwork < 1.max(n));
    let wrong = [(1, m < 0), (2, n < 0), (4, lda < 1.max(m)), (7, !is_query && is_short)];
    // SAFETY: the standard's arguments: `info` is an integer.
    unsafe { check(at, &wrong, info)? };
    let steps = m.min(n);
    let wanted = if steps == 0 { 1 } else { n * REFERENCE_BLOCK };
    if !is_query && steps > 0 {
        // SAFETY: the standard's arguments, checked: there is a factor for each reflector.
        let (a, tau) = unsafe { (matrix_mut(at, a, m, n, lda), std::slice::from_raw_parts_mut(tau, steps as usize)) };
        sound(routine(a, tau));
    }
    // SAFETY: the standard's arguments: `work` has an element, for a query too.
    unsafe { *work = T::real(T::Real::from_f64(wanted as f64)) };
    Some(())
}
