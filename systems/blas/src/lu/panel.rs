//! A tall block of columns, factored by one thread: in halves, so that most of the work is products, down to
//! a few columns.
use super::{exchange, update};
use crate::kernels::level1::{axpy, scal};
use crate::kernels::matrix::MatrixMut;
use crate::level1::reduce::iamax_here;
use crate::scalar::{Real, Scalar};
use crate::sweep::split_columns;

/// This many columns are factored one after the other.
const NARROW: usize = 8;

/// Factors a block that has no more columns than rows, and exchanges row `i` with row `pivots[i]`. Returns
/// the first step whose pivot is nought.
pub(super) fn factor<T: Scalar>(a: MatrixMut<'_, T>, pivots: &mut [usize]) -> Option<usize> {
    let (rows, cols) = (a.row_count(), a.col_count());
    if cols <= NARROW {
        return narrow(a, pivots);
    }
    let half = cols / 2;
    let (mut left, mut right) = split_columns(a, half);
    let (first, second) = pivots.split_at_mut(half);
    let nought = factor(left.reborrow(), first);
    update(left.view(), first, right.reborrow());
    let later = factor(right.block(half..rows, 0..cols - half), second);
    exchange(second, &mut left.block(half..rows, 0..half));
    second.iter_mut().for_each(|pivot| *pivot += half);
    nought.or(later.map(|at| half + at))
}

/// Factors column by column.
fn narrow<T: Scalar>(mut a: MatrixMut<'_, T>, pivots: &mut [usize]) -> Option<usize> {
    let (rows, cols) = (a.row_count(), a.col_count());
    let mut nought = None;
    for (step, chosen) in pivots.iter_mut().enumerate() {
        let below = a.view().block(step..rows, step..step + 1).col(0);
        let pivot = step + iamax_here(below).unwrap_or(0);
        *chosen = pivot;
        for col in (0..cols).filter(|_| pivot != step) {
            let held = a.get(step, col);
            a.set(step, col, a.get(pivot, col));
            a.set(pivot, col, held);
        }
        let value = a.get(step, step);
        if value == T::ZERO {
            nought = nought.or(Some(step));
            continue;
        }
        eliminate(&mut a, step, value);
    }
    nought
}

/// Divides the column below a pivot by it, and subtracts its multiples from the columns to its right.
fn eliminate<T: Scalar>(a: &mut MatrixMut<'_, T>, step: usize, pivot: T) {
    let (rows, cols) = (a.row_count(), a.col_count());
    let (left, right) = split_columns(a.reborrow().block(0..rows, step..cols), 1);
    let mut column = left.block(step + 1..rows, 0..1).col(0);
    let inverse = T::ONE.over(pivot);
    // The inverse of a tiny number is infinite, and that of a huge complex one has lost its digits.
    let safe = pivot.abs1() >= T::Real::MIN_POSITIVE / T::Real::EPSILON && pivot.abs1() <= T::Real::MAX * T::Real::EPSILON;
    match column.reborrow().into_slice() {
        Some(column) if safe => scal(inverse, column),
        _ => column.map(|value| if safe { inverse * value } else { value.over(pivot) }),
    }
    let column = column.view();
    let mut right = right;
    for col in 0..right.col_count() {
        let (above, mut below) = right.reborrow().col(col).split(step + 1);
        let factor = -above.get(step);
        match (column.as_slice(), below.reborrow().into_slice()) {
            (Some(column), Some(below)) => axpy(factor, column, below),
            _ => (0..below.len()).for_each(|at| below.set(at, below.get(at) + factor * column.get(at))),
        }
    }
}
