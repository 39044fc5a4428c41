//! A triangular matrix times a vector, in place.
use super::dense;
use super::triangle::Triangle;
use crate::error::{Error, same};
use crate::kernels::columns::{add_columns, add_dots};
use crate::kernels::level1::dot;
use crate::kernels::vector::VectorMut;
use crate::options::{Diag, Trans, Uplo};
use crate::scalar::Scalar;
use std::ops::Range;

/// Rows of a full triangle that are worked on column by column; the rest is a rectangle.
pub(crate) const BLOCK: usize = 64;

/// How the triangle in memory enters the product.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    /// Whether its columns are the operator's rows.
    pub(crate) by_rows: bool,
    pub(crate) conj: bool,
    pub(crate) unit: bool,
}

impl Use {
    pub(crate) fn new<T: Scalar>(trans: Trans, diag: Diag, a: &Triangle<'_, T>) -> Self {
        let by_rows = (trans != Trans::No) != a.transposed;
        Self { by_rows, conj: trans == Trans::Conj && T::COMPLEX, unit: diag == Diag::Unit }
    }

    /// Whether columns are worked on from the last to the first, if later ones need `x` as it was before.
    fn backwards(self, uplo: Uplo) -> bool {
        (uplo == Uplo::Lower) != self.by_rows
    }
}

/// The blocks of a full triangle, or all of another one, in order.
pub(crate) fn blocks<T: Scalar>(a: &Triangle<'_, T>, backwards: bool) -> impl Iterator<Item = Range<usize>> {
    let n = a.order();
    let block = if a.matrix().is_some() { BLOCK } else { n.max(1) };
    let count = n.div_ceil(block);
    (0..count).map(move |at| if backwards { count - 1 - at } else { at } * block).map(move |at| at..n.min(at + block))
}

/// The stored rows of a column that lie within a block.
pub(crate) fn within(rows: Range<usize>, block: &Range<usize>) -> Range<usize> {
    rows.start.clamp(block.start, block.end)..rows.end.clamp(block.start, block.end)
}

/// `x = op(a) * x`: `trmv`, `tbmv` and `tpmv`.
///
/// # Errors
/// If the lengths differ.
pub fn trmv<T: Scalar>(trans: Trans, diag: Diag, a: Triangle<'_, T>, x: VectorMut<'_, T>) -> Result<(), Error> {
    same("trmv", 7, "x", x.len(), a.order())?;
    let how = Use::new(trans, diag, &a);
    let backwards = how.backwards(a.shape.uplo);
    dense::write(x, |x| {
        for block in blocks(&a, backwards) {
            // The rectangle adds to finished elements, or from unchanged ones.
            if !how.by_rows {
                rectangle(how, &a, &block, x);
            }
            for at in 0..block.len() {
                let col = if backwards { block.end - 1 - at } else { block.start + at };
                column(how, &a, col, &block, x);
            }
            if how.by_rows {
                rectangle(how, &a, &block, x);
            }
        }
    });
    Ok(())
}

/// One column, as far as it lies within the block.
fn column<T: Scalar>(how: Use, a: &Triangle<'_, T>, col: usize, block: &Range<usize>, x: &mut [T]) {
    let (diagonal, stored, elements) = a.split(col);
    let rows = within(stored.clone(), block);
    let elements = &elements[rows.start - stored.start..rows.end - stored.start];
    let value = x[col];
    let scaled = if how.unit { value } else { diagonal.conj_if(how.conj) * value };
    if how.by_rows {
        x[col] = scaled + dot(how.conj, elements, &x[rows]);
    } else {
        dense::add(how.conj, value, elements, &mut x[rows]);
        x[col] = scaled;
    }
}

/// The part of a full triangle above or below a block on the diagonal.
fn rectangle<T: Scalar>(how: Use, a: &Triangle<'_, T>, block: &Range<usize>, x: &mut [T]) {
    let Some(matrix) = a.matrix() else { return };
    let rows = if a.shape.uplo == Uplo::Lower { block.end..a.order() } else { 0..block.start };
    if rows.is_empty() {
        return;
    }
    let matrix = matrix.block(rows.clone(), block.clone());
    let (inside, outside) = parts(x, block, &rows);
    if how.by_rows {
        add_dots(how.conj, T::ONE, matrix, outside, T::ONE, inside);
    } else {
        add_columns(how.conj, T::ONE, matrix, inside, T::ONE, outside);
    }
}

/// The elements of a block, and those of the rows before or after it.
pub(crate) fn parts<'x, T>(x: &'x mut [T], block: &Range<usize>, rows: &Range<usize>) -> (&'x mut [T], &'x mut [T]) {
    if rows.start >= block.end {
        let (before, after) = x.split_at_mut(rows.start);
        (&mut before[block.clone()], &mut after[..rows.len()])
    } else {
        let (before, after) = x.split_at_mut(block.start);
        (&mut after[..block.len()], &mut before[rows.clone()])
    }
}
