//! The routines of level 1 that write a vector element by element: `axpy`, `scal`, `copy`, `swap` and their
//! kin.
use super::parts::{Axpy, Copy, Scal, Swap};
use crate::crossover::{Routine, is_small, memory, worth};
use crate::error::{Error, same};
use crate::kernels::level1 as kernels;
use crate::kernels::vector::{Vector, VectorMut};
use crate::scalar::Scalar;
use crate::team::shared;

/// `y += alpha * x`
///
/// # Errors
/// If the lengths differ.
#[inline(always)]
pub fn axpy<T: Scalar>(alpha: T, x: Vector<'_, T>, mut y: VectorMut<'_, T>) -> Result<(), Error> {
    if is_small(Routine::Axpy, memory::<T>(x.len()))
        && x.len() == y.len()
        && let (Some(x), Some(y)) = (x.as_slice(), y.reborrow().into_slice())
    {
        add_slice(alpha, x, y);
        return Ok(());
    }
    add_otherwise(alpha, x, y)
}

/// All that short vectors have no use for, apart, so that their arguments stay in registers.
#[inline(never)]
fn add_otherwise<T: Scalar>(alpha: T, x: Vector<'_, T>, y: VectorMut<'_, T>) -> Result<(), Error> {
    same("axpy", 5, "y", y.len(), x.len())?;
    if worth(Routine::Axpy, memory::<T>(x.len())) {
        return Axpy::new(alpha, x, y).map(shared);
    }
    add(alpha, x, y);
    Ok(())
}

/// `y += alpha * x` of elements that lie side by side. As the standard has it, an `alpha` of zero adds
/// nothing, not even what is not a number.
#[inline(always)]
fn add_slice<T: Scalar>(alpha: T, x: &[T], y: &mut [T]) {
    if alpha != T::ZERO {
        kernels::axpy(alpha, x, y);
    }
}

/// `y += alpha * x` for vectors of one length.
pub(crate) fn add<T: Scalar>(alpha: T, x: Vector<'_, T>, mut y: VectorMut<'_, T>) {
    if let (Some(x), Some(y)) = (x.as_slice(), y.reborrow().into_slice()) {
        return add_slice(alpha, x, y);
    }
    for at in 0..if alpha == T::ZERO { 0 } else { y.len() } {
        y.set(at, y.get(at).add_product::<false>(alpha, x.get(at)));
    }
}

/// `y = alpha * x + beta * y`; if `beta` is nought, `y` is not read.
///
/// # Errors
/// If the lengths differ.
pub fn axpby<T: Scalar>(alpha: T, x: Vector<'_, T>, beta: T, mut y: VectorMut<'_, T>) -> Result<(), Error> {
    same("axpby", 6, "y", y.len(), x.len())?;
    for at in 0..y.len() {
        let scaled = if beta == T::ZERO { T::ZERO } else { beta * y.get(at) };
        y.set(at, if alpha == T::ZERO { scaled } else { alpha * x.get(at) + scaled });
    }
    Ok(())
}

/// `x *= alpha`; elements that are not numbers stay so even if `alpha` is nought.
pub fn scal<T: Scalar>(alpha: T, x: VectorMut<'_, T>) {
    if worth(Routine::Scal, memory::<T>(x.len())) && alpha != T::ONE {
        return shared(Scal::new(alpha, x));
    }
    multiply(alpha, x);
}

/// `x *= alpha`, computed by the caller.
pub(crate) fn multiply<T: Scalar>(alpha: T, mut x: VectorMut<'_, T>) {
    if alpha == T::ONE {
        return;
    }
    match x.reborrow().into_slice() {
        Some(x) => kernels::scal(alpha, x),
        None => x.map(|x| alpha * x),
    }
}

/// `x *= alpha` for a real `alpha`: `csscal`, `zdscal`.
pub fn scal_real<T: Scalar>(alpha: T::Real, mut x: VectorMut<'_, T>) {
    if alpha != T::Real::ONE {
        x.map(|x| x.scale(alpha));
    }
}

/// `y *= beta` as in levels 2 and 3: if `beta` is nought, `y` is not read.
pub(crate) fn scale<T: Scalar>(beta: T, mut y: VectorMut<'_, T>) {
    if beta == T::ZERO { y.map(|_| T::ZERO) } else { multiply(beta, y) }
}

/// `y = x`
///
/// # Errors
/// If the lengths differ.
pub fn copy<T: Scalar>(x: Vector<'_, T>, y: VectorMut<'_, T>) -> Result<(), Error> {
    same("copy", 4, "y", y.len(), x.len())?;
    if worth(Routine::Copy, memory::<T>(x.len())) {
        return Copy::new(x, y).map(shared);
    }
    assign(x, y);
    Ok(())
}

/// `y = x` for vectors of one length.
pub(crate) fn assign<T: Scalar>(x: Vector<'_, T>, mut y: VectorMut<'_, T>) {
    if let (Some(x), Some(y)) = (x.as_slice(), y.reborrow().into_slice()) {
        return y.copy_from_slice(x);
    }
    for at in 0..y.len() {
        y.set(at, x.get(at));
    }
}

/// Exchanges two vectors.
///
/// # Errors
/// If the lengths differ.
pub fn swap<T: Scalar>(x: VectorMut<'_, T>, y: VectorMut<'_, T>) -> Result<(), Error> {
    same("swap", 4, "y", y.len(), x.len())?;
    if worth(Routine::Swap, memory::<T>(x.len())) {
        return Swap::new(x, y).map(shared);
    }
    exchange(x, y);
    Ok(())
}

/// Exchanges two vectors of one length.
pub(crate) fn exchange<T: Scalar>(mut x: VectorMut<'_, T>, mut y: VectorMut<'_, T>) {
    if let (Some(x), Some(y)) = (x.reborrow().into_slice(), y.reborrow().into_slice()) {
        return x.swap_with_slice(y);
    }
    for at in 0..y.len() {
        let held = x.get(at);
        x.set(at, y.get(at));
        y.set(at, held);
    }
}
