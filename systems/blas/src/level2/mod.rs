//! Level 2: a matrix and vectors.
pub(crate) mod band;
pub(crate) mod dense;
pub(crate) mod gemv;
pub(crate) mod ger;
pub(crate) mod rank;
pub(crate) mod symv;
pub(crate) mod triangle;
pub(crate) mod triangular;
