//! Vectors with their elements side by side, copied if they lie otherwise: the loops of level 2 have no
//! increments.
use crate::kernels::vector::{Vector, VectorMut};
use crate::scalar::Scalar;
use std::borrow::Cow;

/// The elements side by side.
#[inline(always)]
pub(crate) fn read<T: Scalar>(x: Vector<'_, T>) -> Cow<'_, [T]> {
    x.as_slice().map_or_else(|| x.iter().collect(), Cow::Borrowed)
}

/// The elements side by side, each changed.
pub(crate) fn map<T: Scalar>(x: Vector<'_, T>, change: impl Fn(T) -> T) -> Vec<T> {
    x.iter().map(change).collect()
}

/// Lets `work` write the elements as if they lay side by side. They are read before, unless `work` will not.
#[inline(always)]
pub(crate) fn write<T: Scalar>(mut y: VectorMut<'_, T>, work: impl FnOnce(&mut [T])) {
    if let Some(y) = y.reborrow().into_slice() {
        return work(y);
    }
    let mut held: Vec<T> = y.view().iter().collect();
    work(&mut held);
    for (at, value) in held.into_iter().enumerate() {
        y.set(at, value);
    }
}

/// `y += alpha * a`, or of `conj(a)`.
pub(crate) fn add<T: Scalar>(conj: bool, alpha: T, a: &[T], y: &mut [T]) {
    if conj && T::COMPLEX { add_conj(alpha, a, y) } else { crate::kernels::level1::axpy(alpha, a, y) }
}

/// `y += alpha * conj(a)`
pub(crate) fn add_conj<T: Scalar>(alpha: T, a: &[T], y: &mut [T]) {
    for (y, a) in y.iter_mut().zip(a) {
        *y += alpha * a.conj();
    }
}
