//! The product of matrices so small that to pack them, to choose a path and to allocate would cost more than the product.
//!
//! Both factors are copied into arrays on the stack, and a column of the result is a few registers. No part of a larger result is
//! so small in all three directions: the grids of level 3 have wider cells (`product`), so a part takes the path of the whole.
use super::dispatch::by_processor;
use super::lines::{columns, load, store};
use super::matrix::MatrixMut;
use super::product::Factor;
use super::vector::VectorMut;
use crate::scalar::Scalar;

/// The most rows, columns and terms of a small product.
pub(crate) const ORDER: usize = 16;
/// Columns of the result that are summed at a time, so that additions need not wait for each other.
const TOGETHER: usize = 4;

by_processor! {
    /// `c = alpha * a * b + beta * c`, with at most [`ORDER`] rows, columns and terms. If `beta` is nought `c` is not read.
    fn small(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, c: MatrixMut<'_, T>) = small_body
}

#[inline(always)]
fn small_body<T: Scalar, const FUSED: bool>(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, c: MatrixMut<'_, T>) {
    match c.row_count().max(c.col_count()).max(a.matrix.col_count()) {
        0..=4 => sized::<T, FUSED, 4>(alpha, a, b, beta, c),
        5..=8 => sized::<T, FUSED, 8>(alpha, a, b, beta, c),
        _ => sized::<T, FUSED, ORDER>(alpha, a, b, beta, c),
    }
}

#[inline(always)]
fn sized<T: Scalar, const FUSED: bool, const N: usize>(
    alpha: T,
    a: Factor<'_, T>,
    b: Factor<'_, T>,
    beta: T,
    c: MatrixMut<'_, T>,
) {
    let (a, b, mut c) = if c.layout.down == 1 { (a, b, c) } else { (b.t(), a.t(), c.t()) };
    let depth = a.matrix.col_count();
    let (left, right) = (columns::<T, N>(a.matrix, a.conj), columns::<T, N>(b.matrix, b.conj));
    for from in (0..c.col_count()).step_by(TOGETHER) {
        let mut sums = [[T::ZERO; N]; TOGETHER];
        for (k, left) in left[..depth].iter().enumerate() {
            for (at, sums) in sums.iter_mut().enumerate() {
                let factor = right[from + at][k];
                for lane in 0..N {
                    sums[lane] = sums[lane].add_product::<FUSED>(left[lane], factor);
                }
            }
        }
        for (col, sums) in (from..c.col_count()).zip(&sums) {
            write::<T, FUSED, N>(alpha, sums, beta, c.reborrow().col(col));
        }
    }
}

/// `column = alpha * sums + beta * column`
#[inline(always)]
fn write<T: Scalar, const FUSED: bool, const N: usize>(alpha: T, sums: &[T; N], beta: T, column: VectorMut<'_, T>) {
    let column = column.into_slice().expect("the lines of a matrix lie side by side in memory");
    let line = if beta == T::ZERO {
        sums.map(|sum| alpha * sum)
    } else {
        let mut line: [T; N] = load(column);
        for (value, &sum) in line.iter_mut().zip(sums) {
            *value = (beta * *value).add_product::<FUSED>(alpha, sum);
        }
        line
    };
    store(&line, column);
}
