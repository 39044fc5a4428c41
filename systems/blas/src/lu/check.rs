//! How well factors reproduce their matrix.
use super::{Lu, exchange};
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::product;
use crate::options::Order;
use crate::scalar::{Real, Scalar};

/// The residual `|P * A - L * U| / (|A| * n * epsilon)` of a factorisation, where a norm is the greatest sum
/// of a column, and `n` the larger extent.
///
/// A backward stable factorisation has a residual of a few units; one that grows with `n` is lost.
///
/// # Panics
/// If the shapes differ, or the pivots do not fit such a matrix.
pub fn residual<T: Scalar>(original: Matrix<'_, T>, factors: Matrix<'_, T>, lu: &Lu) -> T::Real {
    let (rows, cols) = (original.row_count(), original.col_count());
    let steps = rows.min(cols);
    assert!(factors.row_count() == rows && factors.col_count() == cols && lu.pivots.len() == steps, "shapes of a factorisation");
    if steps == 0 {
        return T::Real::ZERO;
    }
    let filled = |rows: usize, cols: usize, element: &dyn Fn(usize, usize) -> T| -> Vec<T> {
        (0..cols).flat_map(|col| (0..rows).map(move |row| (row, col))).map(|(row, col)| element(row, col)).collect()
    };
    let lower = filled(rows, steps, &|row, col| match row.cmp(&col) {
        std::cmp::Ordering::Less => T::ZERO,
        std::cmp::Ordering::Equal => T::ONE,
        std::cmp::Ordering::Greater => factors.get(row, col),
    });
    let upper = filled(steps, cols, &|row, col| if row <= col { factors.get(row, col) } else { T::ZERO });
    let mut rest = filled(rows, cols, &|row, col| original.get(row, col));
    let fits = "what was filled fits";
    let mut left = MatrixMut::new(Order::Columns, &mut rest, rows, cols, rows).expect(fits);
    exchange(&lu.pivots, &mut left);
    let lower = Matrix::new(Order::Columns, &lower, rows, steps, rows).expect(fits);
    let upper = Matrix::new(Order::Columns, &upper, steps, cols, steps).expect(fits);
    product(-T::ONE, Factor::plain(lower), Factor::plain(upper), T::ONE, left.reborrow());
    let size = norm(original) * T::Real::from_f64(rows.max(cols) as f64) * T::Real::EPSILON;
    let off = norm(left.view());
    if off == T::Real::ZERO { off } else { off / size }
}

/// The greatest sum of a column; not a number if one of the sums is not.
fn norm<T: Scalar>(a: Matrix<'_, T>) -> T::Real {
    let sums = (0..a.col_count()).map(|col| a.col(col).iter().map(T::abs1).sum::<T::Real>());
    sums.fold(T::Real::ZERO, |most, sum| if sum > most || sum.is_nan() { sum } else { most })
}
