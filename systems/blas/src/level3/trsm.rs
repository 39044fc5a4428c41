//! Triangular systems with many right-hand sides, solved in their place.
use super::triangular::{TriangleOp, Triangular, alone};
use crate::crossover::{Routine, work, worth};
use crate::error::Error;
use crate::kernels::matrix::{Matrix, MatrixMut};
use crate::options::{Diag, Side, Trans, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::shared;
use std::ops::Range;

/// `op(a) * X = alpha * b`, or `X * op(a)`, `X` in the place of `b`, as parts.
#[derive(Debug)]
pub struct Trsm<'a, T>(Triangular<'a, T>);

impl<'a, T: Scalar> Trsm<'a, T> {
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
        Triangular::new(TriangleOp::Solve, (side, uplo, trans, diag), alpha, a, b).map(Self)
    }
}

impl<T: Scalar> Parts for Trsm<'_, T> {
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

/// `op(a) * X = alpha * b`, or `X * op(a) = alpha * b` with `a` on the right side; `X` is returned in `b`.
///
/// If `alpha` is nought `a` is not read. A singular matrix is not detected.
///
/// # Errors
/// If the shapes do not fit.
pub fn trsm<T: Scalar>(
    side: Side,
    uplo: Uplo,
    trans: Trans,
    diag: Diag,
    alpha: T,
    a: Matrix<'_, T>,
    b: MatrixMut<'_, T>,
) -> Result<(), Error> {
    let size = work::<T>(b.row_count(), b.col_count(), a.row_count());
    if worth(Routine::Trsm, size) {
        return Trsm::new(side, uplo, trans, diag, alpha, a, b).map(shared);
    }
    alone(TriangleOp::Solve, (side, uplo, trans, diag), alpha, a, b)
}
