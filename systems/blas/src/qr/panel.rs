//! A tall block of columns, factored into reflectors by one thread: in halves, so that most of the work is
//! products, down to a few columns.
use super::{each, reflect, times};
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::product;
use crate::kernels::vector::{Vector, VectorMut};
use crate::level1::reduce::{dot_here, nrm2_here};
use crate::level1::update::{add, multiply, scal_real};
use crate::options::{Diag, Side, Trans, Uplo};
use crate::scalar::{Real, Scalar};
use crate::sweep::split_columns;

/// This many columns are factored one after the other.
const NARROW: usize = 8;

/// Factors a block that has no more columns than rows, and writes the triangle of its reflectors.
pub(super) fn factor<T: Scalar>(a: MatrixMut<'_, T>, triangle: MatrixMut<'_, T>) {
    let cols = a.col_count();
    if cols <= NARROW {
        return narrow(a, triangle);
    }
    let half = cols / 2;
    let (mut left, mut right) = split_columns(a, half);
    let (above, below) = triangle.split_rows(half);
    let (mut first, between) = split_columns(above, half);
    let (_, mut second) = split_columns(below, half);
    factor(left.reborrow(), first.reborrow());
    reflect(left.view(), first.view(), right.reborrow());
    let (_, mut right) = right.split_rows(half);
    factor(right.reborrow(), second.reborrow());
    join([left.view(), right.view()], [first.view(), second.view()], between);
}

/// The part of the triangle between those of two halves: `-T1 * V1^H * V2 * T2`.
fn join<T: Scalar>(v: [Matrix<'_, T>; 2], triangles: [Matrix<'_, T>; 2], mut between: MatrixMut<'_, T>) {
    let [first, second] = v;
    let (half, rows, cols) = (first.col_count(), second.row_count(), second.col_count());
    let first = first.block(first.row_count() - rows..first.row_count(), 0..half);
    each(&mut between, |row, col, _| first.get(col, row).conj());
    times(Side::Right, Uplo::Lower, Trans::No, Diag::Unit, T::ONE, second.block(0..cols, 0..cols), &mut between);
    let adjoint = Factor { matrix: first.block(cols..rows, 0..half).t(), conj: true };
    product(T::ONE, adjoint, Factor::plain(second.block(cols..rows, 0..cols)), T::ONE, between.reborrow());
    times(Side::Left, Uplo::Upper, Trans::No, Diag::Stored, -T::ONE, triangles[0], &mut between);
    times(Side::Right, Uplo::Upper, Trans::No, Diag::Stored, T::ONE, triangles[1], &mut between);
}

/// Factors column by column.
fn narrow<T: Scalar>(mut a: MatrixMut<'_, T>, mut triangle: MatrixMut<'_, T>) {
    let (rows, cols) = (a.row_count(), a.col_count());
    for step in 0..cols {
        let (mut left, mut right) = split_columns(a.reborrow(), step + 1);
        let (head, below) = left.reborrow().col(step).range(step..rows).split(1);
        let (beta, tau) = reflector(head.get(0), below);
        left.set(step, step, beta);
        let left = left.view();
        let v = left.col(step).range(step + 1..rows);
        for col in 0..right.col_count() {
            let (mut head, mut below) = right.reborrow().col(col).range(step..rows).split(1);
            let sum = tau.conj() * (head.get(0) + dot_here(true, v, below.view()));
            head.set(0, head.get(0) - sum);
            add(-sum, v, below.reborrow());
        }
        let mut sums = [T::ZERO; NARROW];
        for (col, sum) in sums.iter_mut().enumerate().take(step) {
            let other: Vector<'_, T> = left.col(col).range(step + 1..rows);
            *sum = left.get(step, col).conj() + dot_here(true, other, v);
        }
        for row in 0..step {
            let sum = (row..step).fold(T::ZERO, |sum, col| sum + triangle.get(row, col) * sums[col]);
            triangle.set(row, step, -(tau * sum));
        }
        triangle.set(step, step, tau);
    }
}

/// Computes the reflector `I - tau * v * v^H` whose adjoint maps a vector, `alpha` above `x`, to a real
/// number above zeros. `x` becomes `v` without its first element, which is one. Returns the number and `tau`.
fn reflector<T: Scalar>(alpha: T, mut x: VectorMut<'_, T>) -> (T, T) {
    let norm = nrm2_here(x.view());
    if norm == T::Real::ZERO && alpha.im() == T::Real::ZERO {
        return (alpha, T::ZERO);
    }
    // The inverse of a smaller number may be infinite.
    let safe = T::Real::MIN_POSITIVE / T::Real::EPSILON * T::Real::from_f64(2.0);
    let signed = |alpha: T, norm: T::Real| -length([alpha.re(), alpha.im(), norm]).copysign(alpha.re());
    let (mut alpha, mut beta, mut times) = (alpha, signed(alpha, norm), 0);
    while beta.abs() < safe && times < 20 {
        scal_real(T::Real::ONE / safe, x.reborrow());
        alpha = alpha.scale(T::Real::ONE / safe);
        beta = beta / safe;
        times += 1;
    }
    if times > 0 {
        beta = signed(alpha, nrm2_here(x.view()));
    }
    let tau = T::new((beta - alpha.re()) / beta, -alpha.im() / beta);
    multiply(T::ONE.over(alpha - T::real(beta)), x);
    let beta = (0..times).fold(beta, |beta, _| beta * safe);
    (T::real(beta), tau)
}

/// The length of a vector of three, safe from overflow.
fn length<R: Real>(parts: [R; 3]) -> R {
    let most = parts.iter().fold(R::ZERO, |most, part| if part.abs() > most { part.abs() } else { most });
    if most == R::ZERO || !parts.iter().all(|part| part.is_finite()) {
        return parts.iter().map(|part| part.abs()).sum();
    }
    most * parts.iter().map(|&part| (part / most) * (part / most)).sum::<R>().sqrt()
}
