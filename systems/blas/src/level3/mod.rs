//! Level 3: matrices. All of it rests on the product of general matrices and on small triangles.
pub(crate) mod gemm;
pub(crate) mod rank;
pub(crate) mod symm;
mod triangular;
pub(crate) mod trmm;
pub(crate) mod trsm;

/// Runs of about equal length, at most `most` and more than half of that if there are several.
fn runs(len: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = len.div_ceil(most);
    (0..count).map(move |at| len * at / count..len * (at + 1) / count)
}
