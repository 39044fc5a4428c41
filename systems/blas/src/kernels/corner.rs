//! Panels of a symmetric or Hermitian matrix of which a triangle is stored: a few columns, seen as columns and as rows.
//!
//! The corner on the diagonal is written out as a square, so that its columns are registers; beside it all columns have all rows.
use super::columns::{BOTH, both_body};
use super::dispatch::by_processor;
use super::level1::dot_body;
use super::lines::{AlignedLines, load, plus, store};
use crate::options::Uplo;
use crate::scalar::Scalar;
use std::array::from_fn;

/// The most columns of a corner.
pub(crate) const ORDER: usize = 8;

/// How a triangle stands for a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mirror {
    pub(crate) uplo: Uplo,
    /// The diagonal is real.
    pub(crate) hermitian: bool,
    /// In which of its two places an element is conjugated, the stored one first.
    pub(crate) conj: [bool; 2],
}

by_processor! {
    /// `y += alpha * a * x`, `a` being all that some columns of a triangle stand for, the first of which is column `from`. There are
    /// at most [`ORDER`] of them, each with all rows up to the diagonal or from it on.
    fn add_panel(how: Mirror, columns: &[&[T]], alpha: T, from: usize, x: &[T], y: &mut [T]) = add_panel_body
}

#[inline(always)]
fn add_panel_body<T: Scalar, const FUSED: bool>(how: Mirror, columns: &[&[T]], alpha: T, from: usize, x: &[T], y: &mut [T]) {
    let (width, cols) = (columns.len(), from..from + columns.len());
    let mut factors: [T; ORDER] = load(&x[cols.clone()]);
    factors.iter_mut().for_each(|value| *value = alpha * *value);
    add_corner::<T, FUSED>(how, columns, &factors, &mut y[cols.clone()]);
    let rows = if how.uplo == Uplo::Lower { cols.end..y.len() } else { 0..from };
    if rows.is_empty() {
        return;
    }
    // Of each column what lies above or below the corner: the start of an upper one, the end of a lower one.
    let beside = |column: usize| {
        let column = columns[column];
        if how.uplo == Uplo::Lower { &column[column.len() - rows.len()..] } else { &column[..rows.len()] }
    };
    let mut at = 0;
    while at + BOTH <= width {
        let (factors, group) = (from_fn(|col| factors[at + col]), from_fn(|col| beside(at + col)));
        let sums = both_body::<T, FUSED>(how.conj, factors, group, &x[rows.clone()], &mut y[rows.clone()]);
        for (y, sum) in y[from + at..from + at + BOTH].iter_mut().zip(sums) {
            *y = y.add_product::<FUSED>(alpha, sum);
        }
        at += BOTH;
    }
    for at in at..width {
        let sum = one_column::<T, FUSED>(how.conj, factors[at], beside(at), &x[rows.clone()], &mut y[rows.clone()]);
        y[from + at] = y[from + at].add_product::<FUSED>(alpha, sum);
    }
}

/// One column, seen as a column and as a row: `y += alpha * a`, and the sum of `a * x`.
#[inline(always)]
fn one_column<T: Scalar, const FUSED: bool>(conj: [bool; 2], alpha: T, a: &[T], x: &[T], y: &mut [T]) -> T {
    let conj = conj.map(|conj| conj && T::COMPLEX);
    for (y, a) in y.iter_mut().zip(a) {
        *y = y.add_product::<FUSED>(alpha, a.conj_if(conj[0]));
    }
    dot_body::<T, FUSED>(conj[1], a, x)
}

/// `y += a * x`, `a` being the square that the corner of a panel stands for.
#[inline(always)]
fn add_corner<T: Scalar, const FUSED: bool>(how: Mirror, columns: &[&[T]], x: &[T; ORDER], y: &mut [T]) {
    let Mirror { uplo, hermitian, conj } = how;
    let order = columns.len();
    assert!(order <= ORDER && y.len() == order, "shapes of a corner");
    let mut aligned: AlignedLines<T, ORDER> = AlignedLines::new();
    let square = &mut aligned.0;
    for (col, column) in columns.iter().enumerate() {
        // The rows of the corner, and the first of them.
        let (from, part) =
            if uplo == Uplo::Lower { (col, &column[..order - col]) } else { (0, &column[column.len() - col - 1..]) };
        for (at, &element) in part.iter().enumerate() {
            let row = (from + at) % ORDER;
            square[row][col] = element.conj_if(conj[1] && T::COMPLEX);
            square[col][row] = element.conj_if(conj[0] && T::COMPLEX);
        }
        if hermitian {
            square[col][col] = T::real(square[col][col].re());
        }
    }
    let mut sums: [T; ORDER] = load(y);
    for (column, &x) in square[..order].iter().zip(x) {
        sums = plus::<T, FUSED, ORDER>(sums, x, column);
    }
    store(&sums, y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c64;

    /// The columns of a triangle of that order, and what lies at each place of the matrix.
    fn triangle(order: usize, uplo: Uplo) -> Vec<Vec<c64>> {
        let rows = |col| if uplo == Uplo::Upper { 0..col + 1 } else { col..order };
        (0..order).map(|col| rows(col).map(|row| element(row, col)).collect()).collect()
    }

    fn element(row: usize, col: usize) -> c64 {
        c64::new((row * 10 + col) as f64, (row + 3 * col) as f64 - 7.5)
    }

    /// The matrix that the triangle stands for.
    fn full(uplo: Uplo, hermitian: bool, row: usize, col: usize) -> c64 {
        let stored = if uplo == Uplo::Upper { row <= col } else { row >= col };
        match (stored, hermitian) {
            (true, true) if row == col => c64::new(element(row, col).re, 0.0),
            (true, _) => element(row, col),
            (false, true) => element(col, row).conj(),
            (false, false) => element(col, row),
        }
    }

    #[test]
    fn panels_add_up_to_the_matrix_that_a_triangle_stands_for() {
        for order in 0..=3 * ORDER + 1 {
            for (uplo, hermitian) in [(Uplo::Lower, false), (Uplo::Upper, false), (Uplo::Lower, true), (Uplo::Upper, true)] {
                let memory = triangle(order, uplo);
                let how = Mirror { uplo, hermitian, conj: [false, hermitian] };
                let x: Vec<c64> = (0..order).map(|at| c64::new(at as f64 - 2.0, 3.0)).collect();
                let mut y: Vec<c64> = (0..order).map(|at| c64::new(at as f64, -1.0)).collect();
                let product = |row| (0..order).map(|col| full(uplo, hermitian, row, col) * x[col]).sum::<c64>();
                let wanted: Vec<c64> = (0..order).map(|row| y[row] + c64::new(2.0, 0.0) * product(row)).collect();
                for from in (0..order).step_by(ORDER) {
                    let columns: Vec<&[c64]> = memory[from..order.min(from + ORDER)].iter().map(Vec::as_slice).collect();
                    add_panel(how, &columns, c64::new(2.0, 0.0), from, &x, &mut y);
                }
                // Small whole numbers and halves: every order of sums is exact.
                assert_eq!(y, wanted, "{order} {uplo:?} {hermitian}");
            }
        }
    }
}
