//! The triangle at the bottom of `trmm` and `trsm`: at most [`ORDER`] rows of it, against [`WIDTH`] columns at a time.
//!
//! The columns are copied into rows of fixed width, so that the loops run across columns that have nothing to do with each other.
use super::dispatch::by_processor;
use super::matrix::MatrixMut;
use super::product::Factor;
use crate::options::{Diag, Uplo};
use crate::scalar::Scalar;

/// The most rows of a triangle.
pub(crate) const ORDER: usize = 32;
/// Columns that are worked on together.
const WIDTH: usize = 32;

/// What is done with a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriangleOp {
    /// `B = A * B`
    Multiply,
    /// `A * X = B`, `X` in the place of `B`.
    Solve,
}

/// A small triangle, copied: row by row, conjugated if it was so meant.
pub(crate) struct Tile<T> {
    order: usize,
    uplo: Uplo,
    unit: bool,
    elements: [[T; ORDER]; ORDER],
}

/// Multiplies or solves with a triangle of at most [`ORDER`] rows.
///
/// # Panics
/// If the triangle is larger, or the shapes do not fit.
pub(crate) fn tile<T: Scalar>(task: TriangleOp, a: Factor<'_, T>, uplo: Uplo, diag: Diag, mut b: MatrixMut<'_, T>) {
    let order = a.matrix.row_count();
    assert!(order <= ORDER && a.matrix.col_count() == order && b.row_count() == order, "shapes of a tile");
    let mut tile = Tile { order, uplo, unit: diag == Diag::Unit, elements: [[T::ZERO; ORDER]; ORDER] };
    for row in 0..order {
        let stored = if uplo == Uplo::Lower { 0..row + 1 } else { row..order };
        for col in stored.filter(|&col| col != row || !tile.unit) {
            tile.elements[row][col] = a.matrix.get(row, col).conj_if(a.conj);
        }
    }
    let mut rows = [[T::ZERO; WIDTH]; ORDER];
    for from in (0..b.col_count()).step_by(WIDTH) {
        let cols = from..b.col_count().min(from + WIDTH);
        for (row, line) in rows[..order].iter_mut().enumerate() {
            for (at, value) in line[..cols.len()].iter_mut().enumerate() {
                *value = b.get(row, from + at);
            }
        }
        work(task, &tile, &mut rows);
        for (row, line) in rows[..order].iter().enumerate() {
            for (at, &value) in line[..cols.len()].iter().enumerate() {
                b.set(row, from + at, value);
            }
        }
    }
}

by_processor! {
    /// Multiplies or solves for one set of columns.
    fn work(task: TriangleOp, tile: &Tile<T>, rows: &mut [[T; WIDTH]; ORDER]) = work_body
}

#[inline(always)]
fn work_body<T: Scalar, const FUSED: bool>(task: TriangleOp, tile: &Tile<T>, rows: &mut [[T; WIDTH]; ORDER]) {
    // A row is needed by later ones as it was before a product, and as it is after a solution.
    let upwards = (tile.uplo == Uplo::Lower) == (task == TriangleOp::Multiply);
    for step in 0..tile.order {
        let row = if upwards { tile.order - 1 - step } else { step };
        let others = if tile.uplo == Uplo::Lower { 0..row } else { row + 1..tile.order };
        let (pivot, mut line) = (tile.elements[row][row], rows[row]);
        if task == TriangleOp::Multiply && !tile.unit {
            for value in &mut line {
                *value = pivot * *value;
            }
        }
        for other in others {
            let factor = tile.elements[row][other];
            let factor = if task == TriangleOp::Solve { -factor } else { factor };
            for at in 0..WIDTH {
                line[at] = line[at].add_product::<FUSED>(factor, rows[other][at]);
            }
        }
        if task == TriangleOp::Solve && !tile.unit {
            for value in &mut line {
                *value = value.over(pivot);
            }
        }
        rows[row] = line;
    }
}
