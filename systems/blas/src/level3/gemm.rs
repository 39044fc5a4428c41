//! The product of general matrices. The grid is that of the result's columns, or of its rows if it is tall
//! and thin.
use crate::crossover::{Routine, work, worth};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::{SMALL_ORDER, columns, product};
use crate::kernels::shared::SharedPointer;
use crate::options::Trans;
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::done;
use std::ops::Range;

/// `c = alpha * op(a) * op(b) + beta * c` as parts.
#[derive(Debug)]
pub struct Gemm<'a, T> {
    alpha: T,
    a: Factor<'a, T>,
    b: Factor<'a, T>,
    beta: T,
    c: SharedPointer<MatrixMut<'a, T>>,
}

/// The factors that two matrices and their options make.
///
/// # Errors
/// Unless their product has the shape of `c`.
pub(super) fn factors<'a, T: Scalar>(
    routine: &'static str,
    (a, transa): (Matrix<'a, T>, Trans),
    (b, transb): (Matrix<'a, T>, Trans),
    c: &MatrixMut<'_, T>,
) -> Result<(Factor<'a, T>, Factor<'a, T>), Error> {
    let (first, second) = (a.op(transa), b.op(transb));
    same(routine, 7, "a", first.row_count(), c.row_count())?;
    same(routine, 9, "b", second.row_count(), first.col_count())?;
    same(routine, 9, "b", second.col_count(), c.col_count())?;
    let conj = |trans| trans == Trans::Conj;
    Ok((Factor { matrix: first, conj: conj(transa) }, Factor { matrix: second, conj: conj(transb) }))
}

/// Whether a result is so tall and thin that its grid is that of its rows.
#[inline(always)]
fn is_thin(rows: usize, cols: usize) -> bool {
    cols < 64 && rows > 4 * cols
}

impl<'a, T: Scalar> Gemm<'a, T> {
    /// The call with these arguments.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn new(
        transa: Trans,
        transb: Trans,
        alpha: T,
        a: Matrix<'a, T>,
        b: Matrix<'a, T>,
        beta: T,
        c: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        let (a, b) = factors("gemm", (a, transa), (b, transb), &c)?;
        let (rows, cols) = (c.row_count(), c.col_count());
        let (a, b, c) = if is_thin(rows, cols) { (b.t(), a.t(), c.t()) } else { (a, b, c) };
        // A vector takes another path through the kernels.
        let grid = if rows.min(cols) < 2 { Grid::single(c.col_count()) } else { columns::<T>(c.row_count(), c.layout) };
        Ok(Self { alpha, a, b, beta, c: SharedPointer::columns(c, grid) })
    }
}

impl<T: Scalar> Parts for Gemm<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.c.cells()
    }

    fn part(&self, cells: Range<usize>) {
        let (c, span) = self.c.take(cells);
        if span.is_empty() {
            return;
        }
        let b = Factor { matrix: self.b.matrix.block(0..self.b.matrix.row_count(), span), ..self.b };
        product(self.alpha, self.a, b, self.beta, c);
    }

    fn finish(self) {}

    fn whole(self) {
        product(self.alpha, self.a, self.b, self.beta, self.c.into_whole());
    }
}

/// `c = alpha * op(a) * op(b) + beta * c`. If `beta` is nought `c` is not read; if `alpha` is nought `a` and
/// `b` are not.
///
/// # Errors
/// If the shapes do not fit.
#[inline(always)]
pub fn gemm<T: Scalar>(
    transa: Trans,
    transb: Trans,
    alpha: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    beta: T,
    c: MatrixMut<'_, T>,
) -> Result<(), Error> {
    let (rows, cols, depth) = (c.row_count(), c.col_count(), a.op(transa).col_count());
    let size = work::<T>(rows, cols, depth);
    if rows.max(cols).max(depth) <= SMALL_ORDER && !is_thin(rows, cols) && !worth(Routine::Gemm, size) {
        let (a, b) = factors("gemm", (a, transa), (b, transb), &c)?;
        product(alpha, a, b, beta, c);
        return Ok(());
    }
    in_cells(transa, transb, alpha, a, b, beta, c)
}

/// In a function of its own, with all that small calls have no use for: so their arguments stay in registers.
#[inline(never)]
fn in_cells<T: Scalar>(
    transa: Trans,
    transb: Trans,
    alpha: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    beta: T,
    c: MatrixMut<'_, T>,
) -> Result<(), Error> {
    let size = work::<T>(c.row_count(), c.col_count(), a.op(transa).col_count());
    Gemm::new(transa, transb, alpha, a, b, beta, c).map(|call| done(Routine::Gemm, size, call))
}
