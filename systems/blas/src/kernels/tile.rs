//! The triangle at the bottom of `trsm`: at most [`ORDER`] rows of it, against as many columns at a time.
//!
//! The columns are copied into rows of fixed width, so that the loops run across columns that do not depend
//! on each other: the bits of one do not depend on how many there are. A small triangle has narrow rows,
//! which cost less to copy.
use super::dispatch::by_processor;
use super::lines::{AlignedLines, load, plus, put, side_by_side, side_by_side_mut, store};
use super::matrix::{Factor, Matrix, MatrixMut};
use crate::options::{Diag, Uplo};
use crate::scalar::{Real, Scalar};
use std::ops::Range;

/// The most rows of a triangle.
pub(crate) const ORDER: usize = 32;

/// A small triangle, copied column by column, conjugated if the factor says so.
struct Tile<T, const N: usize> {
    order: usize,
    uplo: Uplo,
    unit: bool,
    columns: AlignedLines<T, N>,
}

by_processor! {
    /// `a * x = b`, `x` in the place of `b`, for a triangle of at most [`ORDER`] rows.
    ///
    /// # Panics
    /// If the triangle is larger, or the shapes do not fit.
    fn solve(a: Factor<'_, T>, uplo: Uplo, diag: Diag, b: MatrixMut<'_, T>) = solve_body
}

#[inline(always)]
fn solve_body<T: Scalar, const FUSED: bool>(a: Factor<'_, T>, uplo: Uplo, diag: Diag, b: MatrixMut<'_, T>) {
    match a.matrix.row_count() {
        0..=4 => sized::<T, FUSED, 4>(a, uplo, diag, b),
        5..=8 => sized::<T, FUSED, 8>(a, uplo, diag, b),
        9..=16 => sized::<T, FUSED, 16>(a, uplo, diag, b),
        _ => sized::<T, FUSED, ORDER>(a, uplo, diag, b),
    }
}

#[inline(always)]
fn sized<T: Scalar, const FUSED: bool, const N: usize>(a: Factor<'_, T>, uplo: Uplo, diag: Diag, mut b: MatrixMut<'_, T>) {
    let order = a.matrix.row_count();
    assert!(order <= N && a.matrix.col_count() == order && b.row_count() == order, "shapes of a tile");
    let tile = Tile { order, uplo, unit: diag == Diag::Unit, columns: triangle::<T, N>(a, uplo, diag) };
    let inverses = inverses(&tile);
    let mut rows = AlignedLines::new();
    for from in (0..b.col_count()).step_by(N) {
        let cols = from..b.col_count().min(from + N);
        read(&b, cols.clone(), &mut rows.0);
        solve_rows::<T, FUSED, N>(&tile, &inverses, &mut rows.0);
        write(&mut b, cols, &rows.0);
    }
}

/// The columns of a triangle, with noughts in the other one. A diagonal that is not stored is not read.
#[inline(always)]
fn triangle<T: Scalar, const N: usize>(a: Factor<'_, T>, uplo: Uplo, diag: Diag) -> AlignedLines<T, N> {
    let mut aligned = AlignedLines::new();
    let columns = &mut aligned.0;
    let (order, skipped) = (a.matrix.row_count(), usize::from(diag == Diag::Unit));
    let by_columns = a.matrix.layout.down == 1;
    let (lines, uplo): (Matrix<'_, T>, Uplo) = if by_columns { (a.matrix, uplo) } else { (a.matrix.t(), uplo.flip()) };
    for at in 0..order {
        let stored = if uplo == Uplo::Lower { (at + skipped).min(order)..order } else { 0..at + 1 - skipped };
        let line = &side_by_side(lines, at)[stored.clone()];
        if by_columns {
            put(line, &mut columns[at][stored]);
        } else {
            for (column, &value) in columns[stored].iter_mut().zip(line) {
                column[at] = value;
            }
        }
    }
    if a.conj && T::COMPLEX {
        columns.as_flattened_mut().iter_mut().for_each(|value| *value = value.conj());
    }
    aligned
}

/// The factors that stand for divisions by the diagonal; `None` where a product would lose digits that the
/// quotient keeps, and for all complex numbers, for which no product is as safe as the division.
#[inline(always)]
fn inverses<T: Scalar, const N: usize>(tile: &Tile<T, N>) -> [Option<T>; N] {
    let (least, most) = (T::Real::MIN_POSITIVE / T::Real::EPSILON, T::Real::MAX * T::Real::EPSILON);
    std::array::from_fn(|at| {
        let pivot = tile.columns.0[at][at];
        let safe = !T::COMPLEX && pivot.abs1() >= least && pivot.abs1() <= most;
        safe.then(|| T::ONE.over(pivot))
    })
}

/// Copies some columns of `b` into rows.
#[inline(always)]
fn read<T: Scalar, const N: usize>(b: &MatrixMut<'_, T>, cols: Range<usize>, rows: &mut [[T; N]; N]) {
    let order = b.row_count();
    if b.layout.down == 1 {
        for (at, col) in cols.enumerate() {
            for (row, &value) in rows.iter_mut().zip(side_by_side(b.view(), col)) {
                row[at % N] = value;
            }
        }
    } else {
        let lines = b.view().t();
        for (at, row) in rows[..order].iter_mut().enumerate() {
            *row = load(&side_by_side(lines, at)[cols.clone()]);
        }
    }
}

/// Copies the rows back into columns of `b`.
#[inline(always)]
fn write<T: Scalar, const N: usize>(b: &mut MatrixMut<'_, T>, cols: Range<usize>, rows: &[[T; N]; N]) {
    let order = b.row_count();
    if b.layout.down == 1 {
        for (at, col) in cols.enumerate() {
            for (row, value) in rows.iter().zip(side_by_side_mut(b, col)) {
                *value = row[at % N];
            }
        }
    } else {
        let mut lines = b.reborrow().t();
        for (at, row) in rows[..order].iter().enumerate() {
            store(row, &mut side_by_side_mut(&mut lines, at)[cols.clone()]);
        }
    }
}

/// Solves row by row, so that each row is known when later ones need it. The row just before it, known last,
/// is taken off last.
#[inline(always)]
fn solve_rows<T: Scalar, const FUSED: bool, const N: usize>(
    tile: &Tile<T, N>,
    inverses: &[Option<T>; N],
    rows: &mut [[T; N]; N],
) {
    let order = tile.order.min(N);
    let at = |step: usize| if tile.uplo == Uplo::Lower { step } else { order - 1 - step };
    for step in 0..order {
        let row = at(step);
        let mut line = rows[row];
        for other in (0..step).map(at) {
            line = plus::<T, FUSED, N>(line, -tile.columns.0[other][row], &rows[other]);
        }
        let pivot = tile.columns.0[row][row];
        match inverses[row] {
            _ if tile.unit => {}
            Some(inverse) => line.iter_mut().for_each(|value| *value = inverse * *value),
            None => line.iter_mut().for_each(|value| *value = value.over(pivot)),
        }
        rows[row] = line;
    }
}
