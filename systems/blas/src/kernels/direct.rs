//! The product of matrices so small that to pack them, to choose a path and to allocate would cost more than
//! the product.
//!
//! The result is computed in blocks of registers, from the factors where they lie; only a left factor whose
//! columns do not lie side by side is copied, a few rows at a time. Each element of the result is one chain
//! of sums, whatever block it belongs to: so a part of a result has the bits of the whole.
#![allow(clippy::needless_range_loop, reason = "loops of fixed lengths, of which the compiler makes registers")]

use super::dispatch::by_processor;
use super::lines::{Pieces, in_pieces, load, plus};
use super::matrix::{Factor, Matrix, MatrixMut};
use crate::options::Uplo;
use crate::scalar::Scalar;
use std::hint::black_box;

/// The most terms of such a product, and the most rows of a triangle that is computed so.
pub(crate) const ORDER: usize = 64;
/// Columns of the result that are summed at a time.
const TOGETHER: usize = 4;

/// `c = alpha * a * b + beta * c`, with at most [`ORDER`] terms; only the triangle `kept` of `c`, if there is
/// one. If `beta` is nought `c` is not read.
#[inline(always)]
pub(crate) fn direct<T: Scalar>(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, kept: Option<Uplo>, c: MatrixMut<'_, T>) {
    if c.layout.down == 1 { by_columns(alpha, a, b, beta, kept, c) } else { by_rows(alpha, a, b, beta, kept, c) }
}

/// The transposed product, whose result has columns side by side.
#[inline(never)]
fn by_rows<T: Scalar>(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, kept: Option<Uplo>, c: MatrixMut<'_, T>) {
    by_columns(alpha, b.t(), a.t(), beta, kept.map(Uplo::flip), c.t());
}

by_processor! {
    /// The product, if the columns of `c` lie side by side.
    fn by_columns(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, kept: Option<Uplo>, c: MatrixMut<'_, T>) = direct_body by is_wide
}

#[inline(always)]
fn direct_body<T: Scalar, const FUSED: bool, const WIDE: bool>(
    alpha: T,
    a: Factor<'_, T>,
    b: Factor<'_, T>,
    beta: T,
    kept: Option<Uplo>,
    c: MatrixMut<'_, T>,
) {
    let (rows, depth, cols) = (c.row_count(), a.matrix.col_count(), c.col_count());
    let fit = a.matrix.row_count() == rows && b.matrix.row_count() == depth && b.matrix.col_count() == cols;
    assert!(c.layout.down == 1 && fit && depth <= ORDER, "shapes of a direct product");
    let mut product = Direct::<_, FUSED, WIDE> { alpha, a, b, beta, kept, c };
    match (size_of::<T>(), WIDE && !T::COMPLEX) {
        // Two registers of 512 bits for each of eight columns: two units with four steps each are busy.
        (4, true) => in_pieces::<32>(rows, &mut product),
        (_, true) => in_pieces::<16>(rows, &mut product),
        // Two registers of 256 bits in double precision, four of which fit beside each other.
        (4, false) => in_pieces::<16>(rows, &mut product),
        (_, false) => in_pieces::<8>(rows, &mut product),
    }
}

/// A product whose shapes fit, with the columns of `c` side by side.
struct Direct<'a, 'c, T, const FUSED: bool, const WIDE: bool> {
    alpha: T,
    a: Factor<'a, T>,
    b: Factor<'a, T>,
    beta: T,
    kept: Option<Uplo>,
    c: MatrixMut<'c, T>,
}

impl<T: Scalar, const FUSED: bool, const WIDE: bool> Pieces for Direct<'_, '_, T, FUSED, WIDE> {
    /// Some rows of the result.
    #[inline(always)]
    fn piece<const ROWS: usize>(&mut self, row: usize) {
        let (depth, Factor { matrix, conj }) = (self.a.matrix.col_count(), self.a);
        let mut copy: [[T; ROWS]; ORDER];
        let a = if matrix.layout.down == 1 && !(conj && T::COMPLEX) {
            matrix.block(row..row + ROWS, 0..depth)
        } else {
            copy = [[T::ZERO; ROWS]; ORDER];
            // Through memory, as in `block`: a factor that is not copied needs none of these addresses.
            copy_rows(self.a, black_box(row), &mut copy[..depth]);
            Matrix::columns(copy.as_flattened(), ROWS, depth, ROWS).expect("there is room for all terms")
        };
        self.rows::<ROWS>(row, a);
    }
}

/// Copies some rows of a factor, a line for each of its columns.
#[inline(always)]
fn copy_rows<T: Scalar, const ROWS: usize>(a: Factor<'_, T>, row: usize, lines: &mut [[T; ROWS]]) {
    for at in 0..ROWS {
        for (k, line) in lines.iter_mut().enumerate() {
            // SAFETY: the matrix has this row, and as many columns as there are terms.
            line[at] = unsafe { a.matrix.element(row + at, k) }.conj_if(a.conj);
        }
    }
}

impl<T: Scalar, const FUSED: bool, const WIDE: bool> Direct<'_, '_, T, FUSED, WIDE> {
    /// Some rows of the result, given those of the left factor.
    #[inline(always)]
    fn rows<const ROWS: usize>(&mut self, row: usize, a: Matrix<'_, T>) {
        let cols = match self.kept {
            None => 0..self.c.col_count(),
            Some(Uplo::Lower) => 0..self.c.col_count().min(row + ROWS),
            Some(Uplo::Upper) => row.min(self.c.col_count())..self.c.col_count(),
        };
        let mut col = cols.start;
        while WIDE && !T::COMPLEX && cols.end - col >= 2 * TOGETHER {
            self.block::<ROWS, { 2 * TOGETHER }>(row, col, a);
            col += 2 * TOGETHER;
        }
        while cols.end - col >= TOGETHER {
            self.block::<ROWS, TOGETHER>(row, col, a);
            col += TOGETHER;
        }
        if (cols.end - col) & 2 != 0 {
            self.block::<ROWS, 2>(row, col, a);
            col += 2;
        }
        if (cols.end - col) & 1 != 0 {
            self.block::<ROWS, 1>(row, col, a);
        }
    }

    /// A block of registers.
    #[inline(always)]
    fn block<const ROWS: usize, const COLS: usize>(&mut self, row: usize, col: usize, a: Matrix<'_, T>) {
        // Through memory: else the compiler computes the addresses of all kinds of blocks before the first
        // one, for results that have few blocks.
        let mut b = self.b.matrix;
        [b.layout.down, b.layout.right, self.c.layout.right] = black_box([b.layout.down, b.layout.right, self.c.layout.right]);
        let mut sums = [[T::ZERO; ROWS]; COLS];
        for k in 0..a.col_count() {
            // SAFETY: `Matrix::piece`: the left factor has `ROWS` rows here, side by side, and the column
            // `k`.
            let line = unsafe { a.piece::<ROWS>(0, k) };
            for at in 0..COLS {
                // SAFETY: `Matrix::element`: the right factor has a row for each column of the left one, and
                // the columns of the result.
                let factor = unsafe { b.element(k, col + at) }.conj_if(self.b.conj);
                sums[at] = plus::<T, FUSED, ROWS>(sums[at], factor, line);
            }
        }
        if let Some(uplo) = self.kept
            && row + ROWS > col
            && row < col + COLS
        {
            // Through memory, so that otherwise all is done in registers.
            let [row, col] = black_box([row, col]);
            for (at, sums) in black_box(sums).iter().enumerate() {
                // SAFETY: `MatrixMut::piece_mut`: the result has these rows side by side, and this column.
                let line = unsafe { self.c.piece_mut::<ROWS>(row, col + at) };
                keep::<T, FUSED, ROWS>(uplo, [row, col + at], self.alpha, sums, self.beta, line);
            }
            return;
        }
        for at in 0..COLS {
            // SAFETY: `MatrixMut::piece_mut`: the result has these rows side by side, and this column.
            let line = unsafe { self.c.piece_mut::<ROWS>(row, col + at) };
            let mut total = sums[at].map(|sum| self.alpha * sum);
            if self.beta != T::ZERO {
                total = plus::<T, FUSED, ROWS>(total, self.beta, &load(line));
            }
            *line = total;
        }
    }
}

/// Writes the part of a column that belongs to a triangle.
#[inline(always)]
fn keep<T: Scalar, const FUSED: bool, const ROWS: usize>(
    uplo: Uplo,
    [row, col]: [usize; 2],
    alpha: T,
    sums: &[T; ROWS],
    beta: T,
    line: &mut [T; ROWS],
) {
    for at in 0..ROWS {
        if if uplo == Uplo::Lower { row + at >= col } else { row + at <= col } {
            let scaled = alpha * sums[at];
            line[at] = if beta == T::ZERO { scaled } else { scaled.add_product::<FUSED>(line[at], beta) };
        }
    }
}
