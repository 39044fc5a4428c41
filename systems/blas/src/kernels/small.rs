//! The product of matrices so small that to pack them, to choose a path and to allocate would cost more than the product.
//!
//! The result is computed in blocks of registers, of as many rows as there are left, from columns where they lie. No part of a larger
//! result is so small in all three directions: the grids of level 3 have wider cells (`product`), so a part takes the path of the
//! whole.
use super::dispatch::by_processor;
use super::lines::{columns, plus, side_by_side_mut};
use super::matrix::MatrixMut;
use super::product::Factor;
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
    let (a, b, c) = if c.layout.down == 1 { (a, b, c) } else { (b.t(), a.t(), c.t()) };
    // Less room is noughts sooner, if a factor must be copied.
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
    mut c: MatrixMut<'_, T>,
) {
    let (rows, cols, depth) = (c.row_count(), c.col_count(), a.matrix.col_count());
    let (mut left, mut right) = (None, None);
    let left = columns::<T, N>(a.matrix, a.conj, &mut left);
    let right = columns::<T, N>(b.matrix, b.conj, &mut right);
    for from in (0..cols).step_by(TOGETHER) {
        // Columns that are missing at the end are the last one again, and not written.
        let factors = std::array::from_fn(|at| right[(from + at).min(cols - 1) % N]);
        let mut block = Block { alpha, beta, left: &left[..depth], factors, from, c: c.reborrow() };
        let mut row = 0;
        if N == 16 && rows == 16 {
            row = block.rows::<FUSED, 16>(row);
        }
        if N >= 8 && rows & 8 != 0 {
            row = block.rows::<FUSED, 8>(row);
        }
        if rows & 4 != 0 {
            row = block.rows::<FUSED, 4>(row);
        }
        if rows & 2 != 0 {
            row = block.rows::<FUSED, 2>(row);
        }
        if rows & 1 != 0 {
            block.rows::<FUSED, 1>(row);
        }
    }
}

/// Some columns of the result, from `from` on.
struct Block<'m, 'c, T> {
    alpha: T,
    beta: T,
    left: &'m [&'m [T]],
    factors: [&'m [T]; TOGETHER],
    from: usize,
    c: MatrixMut<'c, T>,
}

impl<T: Scalar> Block<'_, '_, T> {
    /// Computes so many rows, and returns the one after them.
    #[inline(always)]
    fn rows<const FUSED: bool, const ROWS: usize>(&mut self, row: usize) -> usize {
        let depth = self.left.len();
        let [one, two, three, four] = self.factors.map(|factors| &factors[..depth]);
        // Variables of their own: so the compiler keeps each in registers.
        let [mut first, mut second, mut third, mut fourth] = [[T::ZERO; ROWS]; TOGETHER];
        for (k, column) in self.left.iter().enumerate() {
            let Some(line) = column[row..].first_chunk::<ROWS>() else { break };
            first = plus::<T, FUSED, ROWS>(first, one[k], line);
            second = plus::<T, FUSED, ROWS>(second, two[k], line);
            third = plus::<T, FUSED, ROWS>(third, three[k], line);
            fourth = plus::<T, FUSED, ROWS>(fourth, four[k], line);
        }
        for (col, sums) in (self.from..self.c.col_count()).zip([first, second, third, fourth]) {
            if let Some(line) = side_by_side_mut(&mut self.c, col)[row..].first_chunk_mut::<ROWS>() {
                *line = combined::<T, FUSED, ROWS>(self.alpha, sums, self.beta, line);
            }
        }
        row + ROWS
    }
}

/// `alpha * sums + beta * line`
#[inline(always)]
fn combined<T: Scalar, const FUSED: bool, const ROWS: usize>(
    alpha: T,
    mut sums: [T; ROWS],
    beta: T,
    line: &[T; ROWS],
) -> [T; ROWS] {
    for lane in 0..ROWS {
        let scaled = alpha * sums[lane];
        sums[lane] = if beta == T::ZERO { scaled } else { scaled.add_product::<FUSED>(beta, line[lane]) };
    }
    sums
}
