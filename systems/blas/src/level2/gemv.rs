//! A matrix times a vector. The grid is that of the result.
use super::dense;
use crate::crossover::{Routine, memory, worth};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::columns::{add_columns, add_dots};
use crate::kernels::matrix::Matrix;
use crate::kernels::shared::SharedPointer;
use crate::kernels::vector::{Vector, VectorMut};
use crate::level1::update::scale;
use crate::options::Trans;
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::shared;
use std::borrow::Cow;
use std::ops::Range;

/// `y = alpha * op(a) * x + beta * y` as parts.
#[derive(Debug)]
pub struct Gemv<'a, T: Scalar> {
    conj: bool,
    alpha: T,
    a: Matrix<'a, T>,
    x: Cow<'a, [T]>,
    beta: T,
    y: SharedPointer<VectorMut<'a, T>>,
}

impl<'a, T: Scalar> Gemv<'a, T> {
    /// Makes the call.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn new(trans: Trans, alpha: T, a: Matrix<'a, T>, x: Vector<'a, T>, beta: T, y: VectorMut<'a, T>) -> Result<Self, Error> {
        let a = a.op(trans);
        check(a, &x, &y)?;
        let x = read(alpha, x);
        let grid = if by_columns(a) { Grid::even(y.len(), 16, 16) } else { Grid::even(y.len(), 4, 4) };
        Ok(Self { conj: trans == Trans::Conj, alpha, a, x, beta, y: SharedPointer::vector(y, grid) })
    }
}

/// Fails unless `a * x` has the shape of `y`.
#[inline(always)]
fn check<T: Scalar>(a: Matrix<'_, T>, x: &Vector<'_, T>, y: &VectorMut<'_, T>) -> Result<(), Error> {
    same("gemv", 7, "x", x.len(), a.col_count())?;
    same("gemv", 10, "y", y.len(), a.row_count())
}

/// The elements of `x`; none if a factor of nought says that they are not read.
#[inline(always)]
fn read<T: Scalar>(alpha: T, x: Vector<'_, T>) -> Cow<'_, [T]> {
    if alpha == T::ZERO { Cow::Borrowed(&[]) } else { dense::read(x) }
}

/// Whether columns lie side by side in memory: the product is a sum of columns, else a row of dot products.
fn by_columns<T: Scalar>(a: Matrix<'_, T>) -> bool {
    a.layout.down == 1
}

/// The rows in `span`.
#[inline(always)]
fn compute<T: Scalar>(call: (bool, T, Matrix<'_, T>, &[T], T), mut y: VectorMut<'_, T>, span: Range<usize>) {
    let (conj, alpha, a, x, beta) = call;
    if alpha == T::ZERO || a.col_count() == 0 {
        return scale(beta, y);
    }
    let a = a.block(span, 0..a.col_count());
    match y.reborrow().into_slice() {
        Some(y) => multiply(conj, alpha, a, x, beta, y),
        None => multiply_apart(conj, alpha, a, x, beta, y),
    }
}

/// The same of elements that lie side by side.
#[inline(always)]
fn multiply<T: Scalar>(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: &mut [T]) {
    if by_columns(a) { add_columns(conj, alpha, a, x, beta, y) } else { add_dots(conj, alpha, a.t(), x, beta, y) }
}

/// The same of elements that lie apart.
#[inline(never)]
fn multiply_apart<T: Scalar>(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: VectorMut<'_, T>) {
    dense::write(y, |y| multiply(conj, alpha, a, x, beta, y));
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
#[inline(always)]
pub fn gemv<T: Scalar>(
    trans: Trans,
    alpha: T,
    a: Matrix<'_, T>,
    x: Vector<'_, T>,
    beta: T,
    y: VectorMut<'_, T>,
) -> Result<(), Error> {
    let op = a.op(trans);
    let routine = if by_columns(op) { Routine::GemvN } else { Routine::GemvT };
    if worth(routine, memory::<T>(a.row_count() * a.col_count())) {
        return gemv_shared(trans, alpha, a, x, beta, y);
    }
    check(op, &x, &y)?;
    let (x, span) = (read(alpha, x), 0..y.len());
    compute((trans == Trans::Conj, alpha, op, &x, beta), y, span);
    Ok(())
}

/// Apart, as all that small calls have no use for: so their arguments stay in registers.
#[inline(never)]
fn gemv_shared<T: Scalar>(
    trans: Trans,
    alpha: T,
    a: Matrix<'_, T>,
    x: Vector<'_, T>,
    beta: T,
    y: VectorMut<'_, T>,
) -> Result<(), Error> {
    Gemv::new(trans, alpha, a, x, beta, y).map(shared)
}
