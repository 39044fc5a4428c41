//! Level 3: matrices. All of it is built on the product of general matrices and on small triangles.
pub(crate) mod gemm;
pub(crate) mod rank;
pub(crate) mod symm;
pub(crate) mod triangular;

use crate::scalar::Scalar;

/// Runs of about equal length, at most `most` and more than half of that if there are several.
fn runs(len: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = len.div_ceil(most);
    (0..count).map(move |at| len * at / count..len * (at + 1) / count)
}

/// Lets `work` have a square of zeros of that order: on the stack if it is small, and no larger than
/// needed, since zeros must be written; else in allocated memory.
fn with_square<T: Scalar>(order: usize, work: &mut dyn FnMut(&mut [T])) {
    let len = order * order;
    match order {
        0..=4 => work(&mut [T::ZERO; 4 * 4][..len]),
        5..=8 => work(&mut [T::ZERO; 8 * 8][..len]),
        9..=16 => work(&mut [T::ZERO; 16 * 16][..len]),
        _ => work(&mut vec![T::ZERO; len]),
    }
}
