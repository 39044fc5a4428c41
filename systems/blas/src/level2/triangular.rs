//! A triangular matrix times a vector, and a triangular system with one right-hand side, both in place: the
//! same steps in different order.
use super::dense;
use super::triangle::Triangle;
use crate::error::{Error, same};
use crate::kernels::columns::{add_columns, add_dots};
use crate::kernels::level1::dot;
use crate::kernels::vector::VectorMut;
use crate::options::{Diag, Trans, TriangleOp, Uplo};
use crate::scalar::Scalar;
use std::ops::Range;

/// Rows of a full triangle that are worked on column by column; the rest is a rectangle.
const BLOCK: usize = 64;

/// `x = op(a) * x`: `trmv`, `tbmv` and `tpmv`.
///
/// # Errors
/// If the lengths differ.
pub fn trmv<T: Scalar>(trans: Trans, diag: Diag, a: Triangle<'_, T>, x: VectorMut<'_, T>) -> Result<(), Error> {
    same("trmv", 7, "x", x.len(), a.order())?;
    TriangleWalk::new(TriangleOp::Multiply, trans, diag, &a).run(x);
    Ok(())
}

/// `op(a) * x = b`, with `b` given and `x` returned in `x`: `trsv`, `tbsv` and `tpsv`. A singular matrix is
/// not detected.
///
/// # Errors
/// If the lengths differ.
pub fn trsv<T: Scalar>(trans: Trans, diag: Diag, a: Triangle<'_, T>, x: VectorMut<'_, T>) -> Result<(), Error> {
    same("trsv", 7, "x", x.len(), a.order())?;
    TriangleWalk::new(TriangleOp::Solve, trans, diag, &a).run(x);
    Ok(())
}

/// One walk over the columns of a triangle, and how they enter the product.
struct TriangleWalk<'s, 'a, T> {
    a: &'s Triangle<'a, T>,
    task: TriangleOp,
    /// Whether the triangle's columns in memory are the operator's rows.
    by_rows: bool,
    conj: bool,
    unit: bool,
    /// Whether columns are worked on from the last to the first: a product needs later elements as they were
    /// before, an unknown those that are solved before it.
    backwards: bool,
}

impl<'s, 'a, T: Scalar> TriangleWalk<'s, 'a, T> {
    fn new(task: TriangleOp, trans: Trans, diag: Diag, a: &'s Triangle<'a, T>) -> Self {
        let by_rows = (trans != Trans::No) != a.transposed;
        let first = if task == TriangleOp::Multiply { Uplo::Lower } else { Uplo::Upper };
        let backwards = (a.shape.uplo == first) != by_rows;
        Self { a, task, by_rows, conj: trans == Trans::Conj && T::COMPLEX, unit: diag == Diag::Unit, backwards }
    }

    fn run(&self, x: VectorMut<'_, T>) {
        // A product's rectangle adds to finished elements, or from unchanged ones; that of a system takes
        // away what is solved.
        let rectangle_first = self.by_rows == (self.task == TriangleOp::Solve);
        dense::write(x, |x| {
            for block in self.blocks() {
                if rectangle_first {
                    self.rectangle(&block, x);
                }
                for at in 0..block.len() {
                    let col = if self.backwards { block.end - 1 - at } else { block.start + at };
                    self.column(col, &block, x);
                }
                if !rectangle_first {
                    self.rectangle(&block, x);
                }
            }
        });
    }

    /// The blocks of a full triangle, or all of another one, in order.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<T> {
        let (n, backwards) = (self.a.order(), self.backwards);
        let block = if self.a.matrix().is_some() { BLOCK } else { n.max(1) };
        let count = n.div_ceil(block);
        (0..count).map(move |at| if backwards { count - 1 - at } else { at } * block).map(move |at| at..n.min(at + block))
    }

    /// One column, as far as it lies within the block.
    fn column(&self, col: usize, block: &Range<usize>, x: &mut [T]) {
        let (diagonal, stored, elements) = self.a.split(col);
        let rows = stored.start.clamp(block.start, block.end)..stored.end.clamp(block.start, block.end);
        let elements = &elements[rows.start - stored.start..rows.end - stored.start];
        let diagonal = diagonal.conj_if(self.conj);
        match self.task {
            TriangleOp::Multiply => {
                let value = x[col];
                let scaled = if self.unit { value } else { diagonal * value };
                if self.by_rows {
                    x[col] = scaled + dot(self.conj, elements, &x[rows]);
                } else {
                    dense::add(self.conj, value, elements, &mut x[rows]);
                    x[col] = scaled;
                }
            }
            TriangleOp::Solve => {
                if self.by_rows {
                    x[col] -= dot(self.conj, elements, &x[rows.clone()]);
                }
                if !self.unit {
                    x[col] = x[col].over(diagonal);
                }
                if !self.by_rows {
                    dense::add(self.conj, -x[col], elements, &mut x[rows]);
                }
            }
        }
    }

    /// The part of a full triangle above or below a block on the diagonal.
    fn rectangle(&self, block: &Range<usize>, x: &mut [T]) {
        let Some(matrix) = self.a.matrix() else { return };
        let rows = if self.a.shape.uplo == Uplo::Lower { block.end..self.a.order() } else { 0..block.start };
        if rows.is_empty() {
            return;
        }
        let matrix = matrix.block(rows.clone(), block.clone());
        let (inside, outside) = parts(x, block, &rows);
        let alpha = if self.task == TriangleOp::Multiply { T::ONE } else { -T::ONE };
        if self.by_rows {
            add_dots(self.conj, alpha, matrix, outside, T::ONE, inside);
        } else {
            add_columns(self.conj, alpha, matrix, inside, T::ONE, outside);
        }
    }
}

/// The elements of a block, and those of the rows before or after it.
fn parts<'x, T>(x: &'x mut [T], block: &Range<usize>, rows: &Range<usize>) -> (&'x mut [T], &'x mut [T]) {
    if rows.start >= block.end {
        let (before, after) = x.split_at_mut(rows.start);
        (&mut before[block.clone()], &mut after[..rows.len()])
    } else {
        let (before, after) = x.split_at_mut(block.start);
        (&mut after[..block.len()], &mut before[rows.clone()])
    }
}
