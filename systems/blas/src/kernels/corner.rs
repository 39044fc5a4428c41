//! A symmetric or Hermitian matrix of which a triangle is stored: a few columns at a time, taken as columns
//! and as rows, so that each element is read once.
use super::columns::{BOTH, both};
use super::dispatch::by_processor;
use super::level1::scale_body;
use super::lines::{load, plus};
use super::matrix::Matrix;
use crate::options::Uplo;
use crate::scalar::Scalar;
use std::ops::Range;

/// How a triangle stands for a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mirror {
    pub(crate) uplo: Uplo,
    /// The diagonal is real.
    pub(crate) hermitian: bool,
    /// Whether an element is conjugated in each of its two positions; the stored position comes first.
    pub(crate) conj: [bool; 2],
}

by_processor! {
    /// `y = alpha * a * x + beta * y`, where `a` is the part of the matrix that some columns of the triangle
    /// stand for. The columns of the matrix lie side by side. If `beta` is nought `y` is not read.
    fn add_triangle(how: Mirror, a: Matrix<'_, T>, cols: Range<usize>, alpha: T, x: &[T], beta: T, y: &mut [T]) = add_triangle_body
}
by_processor! {
    /// `y += alpha * a * x` for the part that [`BOTH`] columns stand for, of which `col` is the first: each
    /// slice is the stored part of its column.
    fn add_stored(how: Mirror, columns: [&[T]; BOTH], col: usize, alpha: T, x: &[T], y: &mut [T]) = add_stored_body
}

#[inline(always)]
fn add_triangle_body<T: Scalar, const FUSED: bool>(
    how: Mirror,
    a: Matrix<'_, T>,
    cols: Range<usize>,
    alpha: T,
    x: &[T],
    beta: T,
    y: &mut [T],
) {
    scale_body(beta, y);
    let order = a.row_count();
    assert!(x.len() == order && y.len() == order, "shapes of a triangle");
    let mut col = cols.start;
    while col + BOTH <= cols.end {
        let mut columns: [&[T]; BOTH] = [&[]; BOTH];
        for (at, column) in columns.iter_mut().enumerate() {
            *column = stored(how.uplo, a, col + at);
        }
        add_group::<T, FUSED, BOTH>(how, columns, col, alpha, x, y);
        col += BOTH;
    }
    while col < cols.end {
        add_group::<T, FUSED, 1>(how, [stored(how.uplo, a, col)], col, alpha, x, y);
        col += 1;
    }
}

/// The stored part of a column.
#[inline(always)]
fn stored<T: Scalar>(uplo: Uplo, a: Matrix<'_, T>, col: usize) -> &[T] {
    let rows = if uplo == Uplo::Lower { col..a.row_count() } else { 0..col + 1 };
    a.col(col).range(rows).as_slice().expect("columns lie side by side in memory")
}

#[inline(always)]
fn add_stored_body<T: Scalar, const FUSED: bool>(how: Mirror, columns: [&[T]; BOTH], col: usize, alpha: T, x: &[T], y: &mut [T]) {
    add_group::<T, FUSED, BOTH>(how, columns, col, alpha, x, y);
}

/// The corner of some columns on the diagonal is written out as a square; beside it all columns have all
/// rows.
#[inline(always)]
fn add_group<T: Scalar, const FUSED: bool, const WIDTH: usize>(
    how: Mirror,
    columns: [&[T]; WIDTH],
    col: usize,
    alpha: T,
    x: &[T],
    y: &mut [T],
) {
    match how.uplo {
        Uplo::Lower => add_group_of::<T, FUSED, true, WIDTH>(how, columns, col, alpha, x, y),
        Uplo::Upper => add_group_of::<T, FUSED, false, WIDTH>(how, columns, col, alpha, x, y),
    }
}

/// `add_group` for a triangle that the compiler knows, so that the square is made of registers.
#[inline(always)]
fn add_group_of<T: Scalar, const FUSED: bool, const LOWER: bool, const WIDTH: usize>(
    how: Mirror,
    columns: [&[T]; WIDTH],
    col: usize,
    alpha: T,
    x: &[T],
    y: &mut [T],
) {
    let (mut beside, mut square): ([&[T]; WIDTH], _) = ([&[]; WIDTH], [[T::ZERO; WIDTH]; WIDTH]);
    for at in 0..WIDTH {
        let (first, last) = columns[at].split_at(if LOWER { WIDTH - at } else { col });
        let corner = if LOWER { first } else { last };
        beside[at] = if LOWER { last } else { first };
        for row in 0..WIDTH {
            if if LOWER { row < at } else { row > at } {
                continue;
            }
            let element = corner[if LOWER { row - at } else { row }];
            square[row][at] = element.conj_if(T::COMPLEX && how.conj[1]);
            square[at][row] = element.conj_if(T::COMPLEX && how.conj[0]);
        }
        if how.hermitian {
            square[at][at] = T::real(square[at][at].re());
        }
    }
    let mut factors = [T::ZERO; WIDTH];
    for (factor, &x) in factors.iter_mut().zip(&x[col..col + WIDTH]) {
        *factor = alpha * x;
    }
    let rows = if LOWER { col + WIDTH..y.len() } else { 0..col };
    let sums = both::<T, FUSED, WIDTH>(how.conj, factors, beside, &x[rows.clone()], &mut y[rows]);
    let y = &mut y[col..col + WIDTH];
    let mut total: [T; WIDTH] = load(y);
    for at in 0..WIDTH {
        total[at] = total[at].add_product::<FUSED>(alpha, sums[at]);
    }
    for at in 0..WIDTH {
        total = plus::<T, FUSED, WIDTH>(total, factors[at], &square[at]);
    }
    y.copy_from_slice(&total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c64;

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
    fn groups_of_columns_add_up_to_the_matrix_that_a_triangle_stands_for() {
        for order in 0..=19 {
            for (uplo, hermitian) in [(Uplo::Lower, false), (Uplo::Upper, false), (Uplo::Lower, true), (Uplo::Upper, true)] {
                let stored = |row, col| if uplo == Uplo::Upper { row <= col } else { row >= col };
                let trap = c64::new(f64::NAN, f64::NAN);
                let cells = (0..order * order).map(|at| (at % order, at / order));
                let memory: Vec<c64> = cells.map(|(row, col)| if stored(row, col) { element(row, col) } else { trap }).collect();
                let a = Matrix::columns(&memory, order, order, order.max(1)).unwrap();
                let how = Mirror { uplo, hermitian, conj: [false, hermitian] };
                let x: Vec<c64> = (0..order).map(|at| c64::new(at as f64 - 2.0, 3.0)).collect();
                let mut y: Vec<c64> = (0..order).map(|at| c64::new(at as f64, -1.0)).collect();
                let product = |row| (0..order).map(|col| full(uplo, hermitian, row, col) * x[col]).sum::<c64>();
                let wanted: Vec<c64> = (0..order).map(|row| y[row] + c64::new(2.0, 0.0) * product(row)).collect();
                for cols in [order / 3..order, 0..order / 3] {
                    add_triangle(how, a, cols, c64::new(2.0, 0.0), &x, c64::ONE, &mut y);
                }
                // Small whole numbers and halves: every order of sums is exact.
                assert_eq!(y, wanted, "{order} {uplo:?} {hermitian}");
            }
        }
    }
}
