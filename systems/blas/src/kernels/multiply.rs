//! A small triangle times a matrix, in its place: the triangle at the bottom of `trmm`.
//!
//! Blocks of the result are summed in registers and written once no other block needs the elements that were
//! there. Each element is one chain of sums, whatever columns a call is given beside it; places outside the
//! triangle are left out, so that a value that is not a number spoils no other row.
#![allow(clippy::needless_range_loop, reason = "loops of fixed lengths, of which the compiler makes registers")]

use super::dispatch::by_processor;
use super::lines::{Pieces, in_pieces, in_pieces_back, plus};
use super::matrix::{Factor, Matrix, MatrixMut};
use crate::options::{Diag, Uplo};
use crate::scalar::Scalar;

/// The most rows of such a triangle.
pub(crate) const ORDER: usize = 64;
/// Columns of the result that are summed at a time.
const TOGETHER: usize = 4;

by_processor! {
    /// `b = a * b`, where `a` is a triangle of at most [`ORDER`] rows.
    fn multiply(a: Factor<'_, T>, uplo: Uplo, diag: Diag, b: MatrixMut<'_, T>) = multiply_body
}

#[inline(always)]
fn multiply_body<T: Scalar, const FUSED: bool>(a: Factor<'_, T>, uplo: Uplo, diag: Diag, b: MatrixMut<'_, T>) {
    let order = a.matrix.row_count();
    assert!(order <= ORDER && a.matrix.col_count() == order && b.row_count() == order, "shapes of a triangle's product");
    let unit = diag == Diag::Unit;
    if b.layout.down == 1 {
        let mut left = Left::<_, FUSED> { a, lower: uplo == Uplo::Lower, unit, b };
        // Rows that others need go last.
        if left.lower { in_pieces_back::<8>(order, &mut left) } else { in_pieces::<8>(order, &mut left) }
    } else {
        let (a, b, lower) = (a.t(), b.t(), uplo == Uplo::Upper);
        assert!(b.layout.down == 1, "the lines of a matrix lie side by side in memory");
        in_pieces::<8>(b.row_count(), &mut Right::<_, FUSED> { a, lower, unit, b });
    }
}

/// `b = a * b`, the columns of `b` side by side.
struct Left<'a, 'b, T, const FUSED: bool> {
    a: Factor<'a, T>,
    lower: bool,
    unit: bool,
    b: MatrixMut<'b, T>,
}

impl<T: Scalar, const FUSED: bool> Pieces for Left<'_, '_, T, FUSED> {
    /// Computes `ROWS` rows from `row` on.
    #[inline(always)]
    fn piece<const ROWS: usize>(&mut self, row: usize) {
        let (Factor { matrix, conj }, order) = (self.a, self.b.row_count());
        let others = if self.lower { 0..row } else { row + ROWS..order };
        let mut corner = [[T::ZERO; ROWS]; ROWS];
        for (col, column) in corner.iter_mut().enumerate() {
            for at in if self.lower { col..ROWS } else { 0..col + 1 } {
                let one = self.unit && at == col;
                // SAFETY: `Matrix::element`: the triangle has these rows and columns.
                column[at] = if one { T::ONE } else { unsafe { matrix.element(row + at, row + col) }.conj_if(conj) };
            }
        }
        let beside = matrix.block(row..row + ROWS, others.clone());
        if matrix.layout.down == 1 && !(conj && T::COMPLEX) {
            return self.rows(row, &corner, beside, others.start);
        }
        let mut copy = [[T::ZERO; ROWS]; ORDER];
        for at in 0..ROWS {
            for (k, line) in copy[..others.len()].iter_mut().enumerate() {
                // SAFETY: `Matrix::element`: `beside` has these rows and columns.
                line[at] = unsafe { beside.element(at, k) }.conj_if(conj);
            }
        }
        let copied = Matrix::columns(copy.as_flattened(), ROWS, others.len(), ROWS).expect("there is room for all columns");
        self.rows(row, &corner, copied, others.start);
    }
}

impl<T: Scalar, const FUSED: bool> Left<'_, '_, T, FUSED> {
    /// Computes some rows from the triangle's `corner` there and its elements `beside` that, which meet rows
    /// of `b` from `first` on.
    #[inline(always)]
    fn rows<const ROWS: usize>(&mut self, row: usize, corner: &[[T; ROWS]; ROWS], beside: Matrix<'_, T>, first: usize) {
        let cols = self.b.col_count();
        let mut col = 0;
        while cols - col >= TOGETHER {
            self.block::<ROWS, TOGETHER>([row, col], corner, beside, first);
            col += TOGETHER;
        }
        while col < cols {
            self.block::<ROWS, 1>([row, col], corner, beside, first);
            col += 1;
        }
    }

    #[inline(always)]
    fn block<const ROWS: usize, const COLS: usize>(
        &mut self,
        [row, col]: [usize; 2],
        corner: &[[T; ROWS]; ROWS],
        beside: Matrix<'_, T>,
        first: usize,
    ) {
        let b = self.b.view();
        // Nought unless a number is not finite: that, times the noughts of the corner, would spoil rows that
        // do not depend on it.
        let mut spoilt = [T::ZERO; ROWS];
        for at in 0..COLS {
            // SAFETY: `Matrix::piece`: the matrix has these rows side by side, and this column.
            let line = unsafe { b.piece::<ROWS>(row, col + at) };
            for lane in 0..ROWS {
                spoilt[lane] = spoilt[lane].add_product::<FUSED>(T::ZERO, line[lane]);
            }
        }
        if spoilt.into_iter().any(|spoilt| spoilt != T::ZERO) {
            return (col..col + COLS).for_each(|col| self.column([row, col], corner, beside, first));
        }
        let mut sums = [[T::ZERO; ROWS]; COLS];
        for k in 0..beside.col_count() {
            // SAFETY: `Matrix::piece`: what lies beside the diagonal has these rows side by side, and this
            // column.
            let line = unsafe { beside.piece::<ROWS>(0, k) };
            for at in 0..COLS {
                // SAFETY: `Matrix::element`: the matrix has a row for each column of the triangle, and these
                // columns.
                sums[at] = plus::<T, FUSED, ROWS>(sums[at], unsafe { b.element(first + k, col + at) }, line);
            }
        }
        for (k, line) in corner.iter().enumerate() {
            for at in 0..COLS {
                // SAFETY: `Matrix::element`: the matrix has a row for each column of the triangle, and these
                // columns.
                sums[at] = plus::<T, FUSED, ROWS>(sums[at], unsafe { b.element(row + k, col + at) }, line);
            }
        }
        for at in 0..COLS {
            // SAFETY: `MatrixMut::piece_mut`: the matrix has these rows side by side, and this column.
            *unsafe { self.b.piece_mut::<ROWS>(row, col + at) } = sums[at];
        }
    }

    /// Computes some rows of a column one by one, without the places outside the triangle.
    #[cold]
    #[inline(never)]
    fn column<const ROWS: usize>(
        &mut self,
        [row, col]: [usize; 2],
        corner: &[[T; ROWS]; ROWS],
        beside: Matrix<'_, T>,
        first: usize,
    ) {
        let mut sums = [T::ZERO; ROWS];
        for (at, sum) in sums.iter_mut().enumerate() {
            for k in 0..beside.col_count() {
                *sum = sum.add_product::<FUSED>(beside.get(at, k), self.b.get(first + k, col));
            }
            for k in if self.lower { 0..at + 1 } else { at..ROWS } {
                *sum = sum.add_product::<FUSED>(corner[k][at], self.b.get(row + k, col));
            }
        }
        for (at, sum) in sums.into_iter().enumerate() {
            self.b.set(row + at, col, sum);
        }
    }
}

/// `b = b * a`, the columns of `b` side by side.
struct Right<'a, 'b, T, const FUSED: bool> {
    a: Factor<'a, T>,
    lower: bool,
    unit: bool,
    b: MatrixMut<'b, T>,
}

impl<T: Scalar, const FUSED: bool> Pieces for Right<'_, '_, T, FUSED> {
    /// Computes `ROWS` rows from `row` on.
    #[inline(always)]
    fn piece<const ROWS: usize>(&mut self, row: usize) {
        let cols = self.b.col_count();
        // Columns that others need go last.
        let whole = cols / TOGETHER;
        for group in 0..whole {
            let col = if self.lower { group * TOGETHER } else { cols - (group + 1) * TOGETHER };
            self.block::<ROWS, TOGETHER>(row, col);
        }
        for last in whole * TOGETHER..cols {
            self.block::<ROWS, 1>(row, if self.lower { last } else { cols - 1 - last });
        }
    }
}

impl<T: Scalar, const FUSED: bool> Right<'_, '_, T, FUSED> {
    #[inline(always)]
    fn block<const ROWS: usize, const COLS: usize>(&mut self, row: usize, col: usize) {
        let (Factor { matrix, conj }, b) = (self.a, self.b.view());
        let mut sums = [[T::ZERO; ROWS]; COLS];
        for k in if self.lower { col + COLS..self.b.col_count() } else { 0..col } {
            // SAFETY: `Matrix::piece`: the matrix has these rows side by side, and a column for each row of
            // the triangle.
            let line = unsafe { b.piece::<ROWS>(row, k) };
            for at in 0..COLS {
                // SAFETY: `Matrix::element`: the triangle has this row, and these columns.
                let factor = unsafe { matrix.element(k, col + at) }.conj_if(conj);
                sums[at] = plus::<T, FUSED, ROWS>(sums[at], factor, line);
            }
        }
        for k in 0..COLS {
            // SAFETY: `Matrix::piece`: the matrix has these rows side by side, and a column for each row of
            // the triangle.
            let line = unsafe { b.piece::<ROWS>(row, col + k) };
            for at in 0..COLS {
                if if self.lower { k < at } else { k > at } {
                    continue;
                }
                let one = self.unit && k == at;
                // SAFETY: `Matrix::element`: the triangle has this row, and this column.
                let factor = if one { T::ONE } else { unsafe { matrix.element(col + k, col + at) }.conj_if(conj) };
                sums[at] = plus::<T, FUSED, ROWS>(sums[at], factor, line);
            }
        }
        for at in 0..COLS {
            // SAFETY: `MatrixMut::piece_mut`: the matrix has these rows side by side, and this column.
            *unsafe { self.b.piece_mut::<ROWS>(row, col + at) } = sums[at];
        }
    }
}
