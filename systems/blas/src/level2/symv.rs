//! A symmetric or Hermitian matrix times a vector, each stored element read once.
//!
//! An element stands for two places of the matrix, so it adds to two places of the result, and a split of the result would read
//! everything twice. The triangle is split instead: each block of columns has a sum of its own, and these are added in order.
use super::dense;
use super::triangle::Triangle;
use crate::crossover::{Routine, memory};
use crate::error::{Error, same};
use crate::kernels::columns::column_and_row;
use crate::kernels::level1::axpy;
use crate::kernels::vector::{Vector, VectorMut};
use crate::level1::update::{add, scale};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::done;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// From this order on, the blocks' own sums cost little beside the triangle.
const SPLIT_FROM: usize = 512;
/// Blocks with sums of their own. Each takes two runs of columns, a long-columned and a short-columned one.
const BLOCKS: usize = 8;

/// `y = alpha * a * x + beta * y` as parts, `a` symmetric or Hermitian.
#[derive(Debug)]
pub struct Symv<'a, T: Scalar> {
    hermitian: bool,
    alpha: T,
    a: Triangle<'a, T>,
    x: Cow<'a, [T]>,
    beta: T,
    y: VectorMut<'a, T>,
    sums: Vec<OnceLock<Vec<T>>>,
}

impl<'a, T: Scalar> Symv<'a, T> {
    /// The call with these arguments.
    ///
    /// # Errors
    /// If the lengths differ.
    pub fn new(
        hermitian: bool,
        alpha: T,
        a: Triangle<'a, T>,
        x: Vector<'a, T>,
        beta: T,
        y: VectorMut<'a, T>,
    ) -> Result<Self, Error> {
        same("symv", 6, "x", x.len(), a.order())?;
        same("symv", 9, "y", y.len(), a.order())?;
        let cells = if a.is_dense() && a.order() >= SPLIT_FROM { BLOCKS } else { 1 };
        let x = if alpha == T::ZERO { Cow::Borrowed(&[][..]) } else { dense::read(x) };
        let sums = (0..cells).map(|_| OnceLock::new()).collect();
        Ok(Self { hermitian: hermitian && T::COMPLEX, alpha, a, x, beta, y, sums })
    }

    /// The two runs of columns that are a cell's.
    fn columns(&self, cell: usize) -> [Range<usize>; 2] {
        let (n, runs) = (self.a.order(), 2 * self.sums.len());
        let run = |at: usize| n * at / runs..n * (at + 1) / runs;
        [run(cell), run(runs - 1 - cell)]
    }

    /// Adds what some columns stand for.
    fn add_columns(&self, columns: Range<usize>, y: &mut [T]) {
        // A Hermitian matrix is conjugated in one of the two places; in the other one if the rows lie in memory.
        let conj = [self.hermitian && self.a.transposed, self.hermitian && !self.a.transposed];
        for col in columns {
            let (diagonal, rows, elements) = self.a.split(col);
            let diagonal = if self.hermitian { T::real(diagonal.re()) } else { diagonal };
            let factor = self.alpha * self.x[col];
            let sum = column_and_row(conj, factor, elements, &self.x[rows.clone()], &mut y[rows]);
            y[col] += factor * diagonal + self.alpha * sum;
        }
    }
}

impl<T: Scalar> Parts for Symv<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.sums.len()
    }

    fn part(&self, cells: Range<usize>) {
        for cell in cells {
            let mut sum = vec![T::ZERO; self.a.order()];
            if self.alpha != T::ZERO {
                self.columns(cell).into_iter().for_each(|columns| self.add_columns(columns, &mut sum));
            }
            assert!(self.sums[cell].set(sum).is_ok(), "cell {cell} has been given out before");
        }
    }

    fn finish(mut self) {
        scale(self.beta, self.y.reborrow());
        let mut sums = self.sums.into_iter().map(|sum| sum.into_inner().expect("every cell has been computed"));
        if self.alpha != T::ZERO
            && let Some(mut total) = sums.next()
        {
            sums.for_each(|sum| axpy(T::ONE, &sum, &mut total));
            add(T::ONE, Vector::from(&total[..]), self.y);
        }
    }

    fn whole(self) {
        self.part(0..self.cells());
        self.finish();
    }
}

/// `y = alpha * a * x + beta * y` for a symmetric `a`: `symv`, `sbmv` and `spmv`.
///
/// If `beta` is nought `y` is not read; if `alpha` is nought `a` and `x` are not.
///
/// # Errors
/// If the lengths differ.
pub fn symv<T: Scalar>(alpha: T, a: Triangle<'_, T>, x: Vector<'_, T>, beta: T, y: VectorMut<'_, T>) -> Result<(), Error> {
    symmetric(false, alpha, a, x, beta, y)
}

/// `y = alpha * a * x + beta * y` for a Hermitian `a`: `hemv`, `hbmv` and `hpmv`. Imaginary parts on the diagonal are not read.
///
/// If `beta` is nought `y` is not read; if `alpha` is nought `a` and `x` are not.
///
/// # Errors
/// If the lengths differ.
pub fn hemv<T: Scalar>(alpha: T, a: Triangle<'_, T>, x: Vector<'_, T>, beta: T, y: VectorMut<'_, T>) -> Result<(), Error> {
    symmetric(true, alpha, a, x, beta, y)
}

fn symmetric<T: Scalar>(
    hermitian: bool,
    alpha: T,
    a: Triangle<'_, T>,
    x: Vector<'_, T>,
    beta: T,
    y: VectorMut<'_, T>,
) -> Result<(), Error> {
    let size = memory::<T>(a.order() * a.order());
    Symv::new(hermitian, alpha, a, x, beta, y).map(|call| done(Routine::Symv, size, call))
}
