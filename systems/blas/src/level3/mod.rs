//! Level 3: matrices. All of it is built on the product of general matrices and on small triangles.
pub(crate) mod gemm;
pub(crate) mod rank;
pub(crate) mod symm;
mod triangular;
pub(crate) mod trmm;
pub(crate) mod trsm;

use crate::scalar::Scalar;

/// Runs of about equal length, at most `most` and more than half of that if there are several.
fn runs(len: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = len.div_ceil(most);
    (0..count).map(move |at| len * at / count..len * (at + 1) / count)
}

/// Squares of this order lie on the stack.
const SMALL: usize = crate::kernels::small::ORDER;

/// A square of noughts of that order: in an array on the caller's stack if it is small, else in allocated
/// memory.
fn square<'m, T: Scalar>(order: usize, short: &'m mut [T; SMALL * SMALL], long: &'m mut Vec<T>) -> &'m mut [T] {
    if order <= SMALL {
        return &mut short[..order * order];
    }
    long.resize(order * order, T::ZERO);
    long
}
