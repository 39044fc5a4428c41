//! A matrix times a vector. The grid is that of the result.
use super::dense;
use crate::crossover::{Routine, memory};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::columns::{add_columns, add_dots};
use crate::kernels::matrix::Matrix;
use crate::kernels::shared::Shared;
use crate::kernels::vector::{Vector, VectorMut};
use crate::level1::update::scale;
use crate::options::Trans;
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::done;
use std::borrow::Cow;
use std::ops::Range;

/// `y = alpha * op(a) * x + beta * y` as parts.
#[derive(Debug)]
pub struct Gemv<'a, T: Scalar> {
    conj: bool,
    alpha: T,
    a: Matrix<'a, T>,
    /// Already times `alpha`, if whole columns are added.
    x: Cow<'a, [T]>,
    beta: T,
    y: Shared<VectorMut<'a, T>>,
}

impl<'a, T: Scalar> Gemv<'a, T> {
    /// Makes the call.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn new(trans: Trans, alpha: T, a: Matrix<'a, T>, x: Vector<'a, T>, beta: T, y: VectorMut<'a, T>) -> Result<Self, Error> {
        let a = a.op(trans);
        same("gemv", 7, "x", x.len(), a.col_count())?;
        same("gemv", 10, "y", y.len(), a.row_count())?;
        let x = if alpha == T::ZERO {
            Cow::Borrowed(&[][..])
        } else if by_columns(a) && alpha != T::ONE {
            Cow::Owned(dense::map(x, |x| alpha * x))
        } else {
            dense::read(x)
        };
        let grid = if by_columns(a) { Grid::even(y.len(), 16, 16) } else { Grid::even(y.len(), 4, 4) };
        Ok(Self { conj: trans == Trans::Conj, alpha, a, x, beta, y: Shared::vector(y, grid) })
    }
}

/// Whether columns lie side by side in memory, so that the product is a sum of columns; else it is one of
/// dots.
fn by_columns<T: Scalar>(a: Matrix<'_, T>) -> bool {
    a.layout.down == 1
}

/// Computes the rows in `span`.
fn compute<T: Scalar>(call: (bool, T, Matrix<'_, T>, &[T], T), mut y: VectorMut<'_, T>, span: Range<usize>) {
    let (conj, alpha, a, x, beta) = call;
    if beta != T::ONE {
        scale(beta, y.reborrow());
    }
    if alpha == T::ZERO || a.col_count() == 0 {
        return;
    }
    let a = a.block(span, 0..a.col_count());
    dense::write(y, |y| if by_columns(a) { add_columns(conj, a, x, y) } else { add_dots(conj, alpha, a.t(), x, y) });
}

impl<T: Scalar> Parts for Gemv<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.y.cells()
    }

    fn part(&self, cells: Range<usize>) {
        let (y, span) = self.y.take(cells);
        compute((self.conj, self.alpha, self.a, &self.x, self.beta), y, span);
    }

    fn finish(self) {}

    fn whole(self) {
        let y = self.y.into_whole();
        let span = 0..y.len();
        compute((self.conj, self.alpha, self.a, &self.x, self.beta), y, span);
    }
}

/// `y = alpha * op(a) * x + beta * y`. If `beta` is nought `y` is not read; if `alpha` is nought `a` and `x`
/// are not.
///
/// # Errors
/// If the shapes do not fit.
pub fn gemv<T: Scalar>(
    trans: Trans,
    alpha: T,
    a: Matrix<'_, T>,
    x: Vector<'_, T>,
    beta: T,
    y: VectorMut<'_, T>,
) -> Result<(), Error> {
    let routine = if by_columns(a.op(trans)) { Routine::GemvN } else { Routine::GemvT };
    let size = memory::<T>(a.row_count() * a.col_count());
    Gemv::new(trans, alpha, a, x, beta, y).map(|call| done(routine, size, call))
}
