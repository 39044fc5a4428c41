//! The rank-one update of a matrix. The grid is that of its columns in memory.
use super::dense;
use crate::crossover::{Routine, memory};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::level1::axpy;
use crate::kernels::matrix::MatrixMut;
use crate::kernels::shared::SharedPointer;
use crate::kernels::vector::Vector;
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::done;
use std::borrow::Cow;
use std::ops::Range;

/// `a += alpha * x * y^T`, or `y^H`, as parts.
#[derive(Debug)]
pub struct Ger<'a, T: Scalar> {
    /// The vector whose multiples are added to the columns.
    x: Cow<'a, [T]>,
    /// The multiple for each column, already times `alpha`.
    y: Vec<T>,
    a: SharedPointer<MatrixMut<'a, T>>,
}

impl<'a, T: Scalar> Ger<'a, T> {
    /// Makes the call; `conj` conjugates `y`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn new(conj: bool, alpha: T, x: Vector<'a, T>, y: Vector<'a, T>, a: MatrixMut<'a, T>) -> Result<Self, Error> {
        same("ger", 4, "x", x.len(), a.row_count())?;
        same("ger", 6, "y", y.len(), a.col_count())?;
        // The columns of the transposed matrix are rows, and the vectors change places.
        let by_columns = a.layout.down == 1;
        let (x, y) = if by_columns {
            (dense::read(x), dense::map(y, |y| alpha * y.conj_if(conj)))
        } else if conj && T::COMPLEX {
            (Cow::Owned(dense::map(y, T::conj)), dense::map(x, |x| alpha * x))
        } else {
            (dense::read(y), dense::map(x, |x| alpha * x))
        };
        let a = if by_columns { a } else { a.t() };
        // Nothing is added if `alpha` is nought, not even what is not a number.
        let columns = if alpha == T::ZERO { 0 } else { a.col_count() };
        let rows = a.row_count();
        let grid = Grid::even(columns, 4, 4);
        Ok(Self { x, y, a: SharedPointer::columns(a.block(0..rows, 0..columns), grid) })
    }
}

fn compute<T: Scalar>(x: &[T], y: &[T], mut a: MatrixMut<'_, T>) {
    for (col, &factor) in y.iter().enumerate() {
        let column = a.reborrow().col(col).into_slice().expect("columns lie side by side in memory");
        axpy(factor, x, column);
    }
}

impl<T: Scalar> Parts for Ger<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.a.cells()
    }

    fn part(&self, cells: Range<usize>) {
        let (a, span) = self.a.take(cells);
        compute(&self.x, &self.y[span], a);
    }

    fn finish(self) {}

    fn whole(self) {
        let a = self.a.into_whole();
        compute(&self.x, &self.y[..a.col_count()], a);
    }
}

/// `a += alpha * x * y^T`
///
/// # Errors
/// If the shapes do not fit.
pub fn ger<T: Scalar>(alpha: T, x: Vector<'_, T>, y: Vector<'_, T>, a: MatrixMut<'_, T>) -> Result<(), Error> {
    geru(alpha, x, y, a)
}

/// `a += alpha * x * y^T`
///
/// # Errors
/// If the shapes do not fit.
pub fn geru<T: Scalar>(alpha: T, x: Vector<'_, T>, y: Vector<'_, T>, a: MatrixMut<'_, T>) -> Result<(), Error> {
    outer(false, alpha, x, y, a)
}

/// `a += alpha * x * y^H`
///
/// # Errors
/// If the shapes do not fit.
pub fn gerc<T: Scalar>(alpha: T, x: Vector<'_, T>, y: Vector<'_, T>, a: MatrixMut<'_, T>) -> Result<(), Error> {
    outer(true, alpha, x, y, a)
}

fn outer<T: Scalar>(conj: bool, alpha: T, x: Vector<'_, T>, y: Vector<'_, T>, a: MatrixMut<'_, T>) -> Result<(), Error> {
    let size = memory::<T>(a.row_count() * a.col_count());
    Ger::new(conj, alpha, x, y, a).map(|call| done(Routine::Ger, size, call))
}
