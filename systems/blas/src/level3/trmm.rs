//! The product of a triangular matrix and a general one, in its place.
use super::triangular::{TriangleOp, Triangular, alone};
use crate::crossover::{Routine, work, worth};
use crate::error::Error;
use crate::kernels::matrix::{Matrix, MatrixMut};
use crate::options::{Diag, Side, Trans, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::shared;
use std::ops::Range;

/// `b = alpha * op(a) * b`, or `b * op(a)`, as parts.
#[derive(Debug)]
pub struct Trmm<'a, T>(Triangular<'a, T>);

impl<'a, T: Scalar> Trmm<'a, T> {
    /// Makes the call.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn new(
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        alpha: T,
        a: Matrix<'a, T>,
        b: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        Triangular::new(TriangleOp::Multiply, (side, uplo, trans, diag), alpha, a, b).map(Self)
    }
}

impl<T: Scalar> Parts for Trmm<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.0.cells()
    }

    fn part(&self, cells: Range<usize>) {
        self.0.part(cells);
    }

    fn finish(self) {}

    fn whole(self) {
        self.0.whole();
    }
}

/// `b = alpha * op(a) * b`, or `alpha * b * op(a)` with `a` on the right side.
///
/// If `alpha` is nought `a` is not read.
///
/// # Errors
/// If the shapes do not fit.
pub fn trmm<T: Scalar>(
    side: Side,
    uplo: Uplo,
    trans: Trans,
    diag: Diag,
    alpha: T,
    a: Matrix<'_, T>,
    b: MatrixMut<'_, T>,
) -> Result<(), Error> {
    let size = work::<T>(b.row_count(), b.col_count(), a.row_count());
    if worth(Routine::Trmm, size) {
        return Trmm::new(side, uplo, trans, diag, alpha, a, b).map(shared);
    }
    alone(TriangleOp::Multiply, (side, uplo, trans, diag), alpha, a, b)
}
