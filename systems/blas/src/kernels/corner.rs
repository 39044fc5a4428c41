//! A small corner on the diagonal of a symmetric or Hermitian matrix: written out as a square, so that its columns are registers.
use super::dispatch::by_processor;
use super::lines::{Lines, load, plus, store};
use crate::options::Uplo;
use crate::scalar::Scalar;

/// The most columns of a corner.
pub(crate) const ORDER: usize = 8;

by_processor! {
    /// `y += a * x`, `a` being the square that the corner of a triangle stands for; it has as many columns as `x` and `y` elements.
    ///
    /// The columns are those of the stored triangle: in an upper one the corner is at their ends, in a lower one at their starts.
    /// `conj` says in which of its two places an element is conjugated, the stored one first; a Hermitian diagonal is real.
    fn add(hermitian: bool, conj: [bool; 2], uplo: Uplo, columns: &[&[T]], x: &[T], y: &mut [T]) = add_body
}

#[inline(always)]
fn add_body<T: Scalar, const FUSED: bool>(hermitian: bool, conj: [bool; 2], uplo: Uplo, columns: &[&[T]], x: &[T], y: &mut [T]) {
    let order = columns.len();
    assert!(order <= ORDER && x.len() == order && y.len() == order, "shapes of a corner");
    let Lines(mut square): Lines<T, ORDER> = Lines::new();
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
    for (column, &x) in square.iter().zip(x) {
        sums = plus::<T, FUSED, ORDER>(sums, x, column);
    }
    store(&sums, y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c64;

    #[test]
    fn a_corner_is_the_square_that_its_triangle_stands_for() {
        let at = |row: usize, col: usize| c64::new((row * 10 + col) as f64, (row + 3 * col) as f64 - 7.5);
        for (order, uplo, hermitian) in (0..=ORDER).flat_map(|order| {
            [Uplo::Lower, Uplo::Upper].into_iter().flat_map(move |uplo| [false, true].map(|hermitian| (order, uplo, hermitian)))
        }) {
            // Two more rows before those of an upper corner, and after those of a lower one.
            let (before, after) = if uplo == Uplo::Upper { (2, 0) } else { (0, 2) };
            let rows = |col| if uplo == Uplo::Upper { 0..col + 1 } else { col..order };
            let memory: Vec<Vec<c64>> = (0..order)
                .map(|col| {
                    let trap = |count| std::iter::repeat_n(c64::new(f64::NAN, f64::NAN), count);
                    trap(before).chain(rows(col).map(|row| at(row, col))).chain(trap(after)).collect()
                })
                .collect();
            let columns: Vec<&[c64]> = memory.iter().map(Vec::as_slice).collect();
            let full = |row: usize, col: usize| match rows(col).contains(&row) {
                true if row == col && hermitian => c64::new(at(row, col).re, 0.0),
                true => at(row, col),
                false if hermitian => at(col, row).conj(),
                false => at(col, row),
            };
            let x: Vec<c64> = (0..order).map(|at| c64::new(at as f64 - 2.0, 3.0)).collect();
            let mut y: Vec<c64> = (0..order).map(|at| c64::new(at as f64, -1.0)).collect();
            let wanted: Vec<c64> =
                (0..order).map(|row| y[row] + (0..order).map(|col| full(row, col) * x[col]).sum::<c64>()).collect();
            add(hermitian, [false, hermitian], uplo, &columns, &x, &mut y);
            // Small whole numbers and halves: every order of sums is exact.
            assert_eq!(y, wanted, "{order} {uplo:?} {hermitian}");
        }
    }
}
