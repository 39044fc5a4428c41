//! A triangular system with one right-hand side, solved in place.
use super::dense;
use super::triangle::Triangle;
use super::trmv::{Use, blocks, parts, within};
use crate::error::{Error, same};
use crate::kernels::columns::{add_columns, add_dots};
use crate::kernels::level1::dot;
use crate::kernels::vector::VectorMut;
use crate::options::{Diag, Trans, Uplo};
use crate::scalar::Scalar;
use std::ops::Range;

/// `op(a) * x = b`, with `b` given and `x` returned in `x`: `trsv`, `tbsv` and `tpsv`. A singular matrix is
/// not detected.
///
/// # Errors
/// If the lengths differ.
pub fn trsv<T: Scalar>(trans: Trans, diag: Diag, a: Triangle<'_, T>, x: VectorMut<'_, T>) -> Result<(), Error> {
    same("trsv", 7, "x", x.len(), a.order())?;
    let how = Use::new(trans, diag, &a);
    // An unknown needs those that are solved before it.
    let backwards = (a.shape.uplo == Uplo::Upper) != how.by_rows;
    dense::write(x, |x| {
        for block in blocks(&a, backwards) {
            if how.by_rows {
                rectangle(how, &a, &block, x);
            }
            for at in 0..block.len() {
                let col = if backwards { block.end - 1 - at } else { block.start + at };
                column(how, &a, col, &block, x);
            }
            if !how.by_rows {
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
    if how.by_rows {
        x[col] -= dot(how.conj, elements, &x[rows.clone()]);
    }
    if !how.unit {
        x[col] = x[col].over(diagonal.conj_if(how.conj));
    }
    if !how.by_rows {
        dense::add(how.conj, -x[col], elements, &mut x[rows]);
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
        add_dots(how.conj, -T::ONE, matrix, outside, T::ONE, inside);
    } else {
        add_columns(how.conj, -T::ONE, matrix, inside, T::ONE, outside);
    }
}
