//! A symmetric or Hermitian matrix times a vector, each stored element read once.
//!
//! An element stands for two places of the matrix, so it adds to two places of the result, and a split of the
//! result would read everything twice. The triangle is split instead: each block of columns has a sum of its
//! own, and these are added in order.
use super::dense;
use super::triangle::Triangle;
use crate::crossover::{Routine, memory};
use crate::error::{Error, same};
use crate::kernels::columns::{BOTH, columns_and_rows};
use crate::kernels::corner::{Mirror, add_stored, add_triangle};
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
    product: Product<'a, T>,
    beta: T,
    y: VectorMut<'a, T>,
    cells: usize,
    /// A sum for each cell; none if there is one cell, which adds to `y` itself, at the end.
    sums: Vec<OnceLock<Vec<T>>>,
}

/// The product `alpha * a * x`.
#[derive(Debug)]
struct Product<'a, T: Scalar> {
    hermitian: bool,
    alpha: T,
    a: Triangle<'a, T>,
    x: Cow<'a, [T]>,
}

/// Fails unless the vectors are as long as the matrix.
#[inline(always)]
fn check<T: Scalar>(a: &Triangle<'_, T>, x: &Vector<'_, T>, y: &VectorMut<'_, T>) -> Result<(), Error> {
    same("symv", 6, "x", x.len(), a.order())?;
    same("symv", 9, "y", y.len(), a.order())
}

/// How many cells a call has.
#[inline(always)]
fn cells<T: Scalar>(a: &Triangle<'_, T>) -> usize {
    if a.is_dense() && a.order() >= SPLIT_FROM { BLOCKS } else { 1 }
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
        check(&a, &x, &y)?;
        let cells = cells(&a);
        let sums = (0..if cells > 1 { cells } else { 0 }).map(|_| OnceLock::new()).collect();
        let product = Product::new(hermitian, alpha, a, x);
        Ok(Self { product, beta, y, cells, sums })
    }

    /// The two runs of columns that make a cell.
    fn columns(&self, cell: usize) -> [Range<usize>; 2] {
        let (n, runs) = (self.product.a.order(), 2 * self.cells);
        let run = |at: usize| n * at / runs..n * (at + 1) / runs;
        [run(cell), run(runs - 1 - cell)]
    }
}

impl<'a, T: Scalar> Product<'a, T> {
    #[inline(always)]
    fn new(hermitian: bool, alpha: T, a: Triangle<'a, T>, x: Vector<'a, T>) -> Self {
        let x = if alpha == T::ZERO { Cow::Borrowed(&[][..]) } else { dense::read(x) };
        Self { hermitian: hermitian && T::COMPLEX, alpha, a, x }
    }

    /// `y = beta * y` and all of the product.
    #[inline(always)]
    fn add_to(&self, beta: T, mut y: VectorMut<'_, T>) {
        if self.alpha == T::ZERO {
            return scale(beta, y);
        }
        match y.reborrow().into_slice() {
            Some(y) => self.add_columns(0..self.a.order(), beta, y),
            None => self.add_apart(beta, y),
        }
    }

    /// `add_to` for elements of `y` that lie apart.
    #[inline(never)]
    fn add_apart(&self, beta: T, y: VectorMut<'_, T>) {
        dense::write(y, |y| self.add_columns(0..self.a.order(), beta, y));
    }

    /// `y = beta * y` and the part of the product that some columns stand for.
    #[inline(always)]
    fn add_columns(&self, columns: Range<usize>, beta: T, y: &mut [T]) {
        let how = Mirror { uplo: self.a.shape.uplo, hermitian: self.hermitian, conj: self.conj() };
        if let Some(matrix) = self.a.matrix() {
            return add_triangle(how, matrix, columns, self.alpha, &self.x, beta, y);
        }
        scale(beta, VectorMut::from(&mut *y));
        self.add_lines(how, columns, y);
    }

    /// `add_columns` for a triangle that is not a matrix in memory.
    #[inline(never)]
    fn add_lines(&self, how: Mirror, columns: Range<usize>, y: &mut [T]) {
        let mut col = columns.start;
        while col + BOTH <= columns.end {
            if self.a.is_dense() {
                add_stored(how, std::array::from_fn(|at| self.a.column(col + at).1), col, self.alpha, &self.x, y);
            } else {
                self.add_group(col, y);
            }
            col += BOTH;
        }
        for col in col..columns.end {
            let column = self.a.split(col);
            self.add_one(col, &column, T::ZERO, [0..column.2.len(), 0..0], y);
        }
    }

    /// Some columns of a band: together in the rows that all of them have, one by one in those before and
    /// after.
    fn add_group(&self, col: usize, y: &mut [T]) {
        let columns: [_; BOTH] = std::array::from_fn(|at| self.a.split(col + at));
        let start = columns.iter().map(|(_, rows, _)| rows.start).max().unwrap_or(0);
        let end = columns.iter().map(|(_, rows, _)| rows.end).min().unwrap_or(0).max(start);
        // Columns of a band may have no row in common.
        let common = columns.each_ref().map(|(_, rows, _)| {
            let within = |row: usize| row.clamp(rows.start, rows.end) - rows.start;
            within(start)..within(end)
        });
        let elements = std::array::from_fn(|at| &columns[at].2[common[at].clone()]);
        let factors = std::array::from_fn(|at| self.alpha * self.x[col + at]);
        let sums = columns_and_rows(self.conj(), factors, elements, &self.x[start..end], &mut y[start..end]);
        for (at, column) in columns.iter().enumerate() {
            let others = [0..common[at].start, common[at].end..column.2.len()];
            self.add_one(col + at, column, sums[at], others, y);
        }
    }

    /// A column's diagonal and some of its other elements, given the sum of products with `x` of those that
    /// were added before.
    fn add_one(&self, col: usize, column: &(T, Range<usize>, &[T]), sum: T, others: [Range<usize>; 2], y: &mut [T]) {
        let (diagonal, rows, elements) = column;
        let (factor, [as_column, as_row]) = (self.alpha * self.x[col], self.conj());
        let mut sum = sum;
        for some in others {
            let rows = rows.start + some.start..rows.start + some.end;
            for ((y, x), element) in y[rows.clone()].iter_mut().zip(&self.x[rows]).zip(&elements[some]) {
                *y += factor * element.conj_if(as_column);
                sum += *x * element.conj_if(as_row);
            }
        }
        let diagonal = if self.hermitian { T::real(diagonal.re()) } else { *diagonal };
        y[col] += factor * diagonal + self.alpha * sum;
    }

    /// Returns whether an element is conjugated in each of its two positions. In a Hermitian matrix it is
    /// conjugated in one of them: in the second, or in the first if the matrix is stored by rows.
    #[inline(always)]
    fn conj(&self) -> [bool; 2] {
        [self.hermitian && self.a.transposed, self.hermitian && !self.a.transposed]
    }
}

impl<T: Scalar> Parts for Symv<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.cells
    }

    fn part(&self, cells: Range<usize>) {
        assert!(cells.end <= self.cells, "cells {cells:?} of {}", self.cells);
        // A single cell has no sum of its own: it is computed in the result, which must not be written before
        // the end.
        for cell in cells.filter(|_| self.cells > 1) {
            let mut sum = vec![T::ZERO; self.product.a.order()];
            if self.product.alpha != T::ZERO {
                self.columns(cell).into_iter().for_each(|columns| self.product.add_columns(columns, T::ONE, &mut sum));
            }
            assert!(self.sums[cell].set(sum).is_ok(), "cell {cell} has been given out before");
        }
    }

    fn finish(mut self) {
        if self.cells == 1 {
            return self.whole();
        }
        scale(self.beta, self.y.reborrow());
        let mut sums = self.sums.into_iter().map(|sum| sum.into_inner().expect("every cell has been computed"));
        if self.product.alpha != T::ZERO
            && let Some(mut total) = sums.next()
        {
            sums.for_each(|sum| axpy(T::ONE, &sum, &mut total));
            add(T::ONE, Vector::from(&total[..]), self.y);
        }
    }

    // A call with one cell is often so small that the way by `finish` would take half its time.
    fn whole(self) {
        if self.cells > 1 {
            self.part(0..self.cells);
            return self.finish();
        }
        self.product.add_to(self.beta, self.y);
    }
}

/// `y = alpha * a * x + beta * y` for a symmetric `a`: `symv`, `sbmv` and `spmv`.
///
/// If `beta` is nought `y` is not read; if `alpha` is nought `a` and `x` are not.
///
/// # Errors
/// If the lengths differ.
#[inline(always)]
pub fn symv<T: Scalar>(alpha: T, a: Triangle<'_, T>, x: Vector<'_, T>, beta: T, y: VectorMut<'_, T>) -> Result<(), Error> {
    symmetric(false, alpha, a, x, beta, y)
}

/// `y = alpha * a * x + beta * y` for a Hermitian `a`: `hemv`, `hbmv` and `hpmv`. Imaginary parts on the
/// diagonal are not read.
///
/// If `beta` is nought `y` is not read; if `alpha` is nought `a` and `x` are not.
///
/// # Errors
/// If the lengths differ.
#[inline(always)]
pub fn hemv<T: Scalar>(alpha: T, a: Triangle<'_, T>, x: Vector<'_, T>, beta: T, y: VectorMut<'_, T>) -> Result<(), Error> {
    symmetric(true, alpha, a, x, beta, y)
}

#[inline(always)]
fn symmetric<T: Scalar>(
    hermitian: bool,
    alpha: T,
    a: Triangle<'_, T>,
    x: Vector<'_, T>,
    beta: T,
    y: VectorMut<'_, T>,
) -> Result<(), Error> {
    if cells(&a) > 1 {
        return in_cells(hermitian, alpha, a, x, beta, y);
    }
    check(&a, &x, &y)?;
    Product::new(hermitian, alpha, a, x).add_to(beta, y);
    Ok(())
}

/// In a function of its own, with all that small calls have no use for: so their arguments stay in registers.
#[inline(never)]
fn in_cells<T: Scalar>(
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
