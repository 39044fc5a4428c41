//! The loops of level 2: several columns of a matrix at once, so that a vector is read once for all of them.
//!
//! Each element of the result has one chain of sums, the same however many columns or rows a call is given.
use super::dispatch::by_processor;
use super::level1::fold;
use super::matrix::Matrix;
use crate::scalar::Scalar;

/// In how many lanes the sum of one column runs.
const LANES: usize = 16;

by_processor! {
    /// `y += a * x`, of `conj(a)` if so asked. The columns of `a` lie side by side in memory, as long as `y`.
    fn add_columns(conj: bool, a: Matrix<'_, T>, x: &[T], y: &mut [T]) = add_columns_body
}
by_processor! {
    /// `y[j] += alpha * sum(a[i, j] * x[i])`, of `conj(a)` if so asked. The columns of `a` are as long as `x`.
    fn add_dots(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], y: &mut [T]) = add_dots_body
}
by_processor! {
    /// A column of a symmetric matrix, seen as column and as row: `y += alpha * a`, and the sum of `a * x`. Of each, `conj(a)`
    /// may be asked for.
    fn column_and_row(conj: [bool; 2], alpha: T, a: &[T], x: &[T], y: &mut [T]) -> T = column_and_row_body
}

/// `WIDTH` columns from `col` on, cut to a length that the compiler can see to be common.
#[inline(always)]
fn group<T: Scalar, const WIDTH: usize>(a: Matrix<'_, T>, col: usize, len: usize) -> [&[T]; WIDTH] {
    std::array::from_fn(|at| {
        let column = a.col(col + at).as_slice();
        &column.expect("columns lie side by side in memory")[..len]
    })
}

#[inline(always)]
fn add_columns_body<T: Scalar, const FUSED: bool>(conj: bool, a: Matrix<'_, T>, x: &[T], y: &mut [T]) {
    if conj && T::COMPLEX { add_all::<T, FUSED>(T::conj, a, x, y) } else { add_all::<T, FUSED>(|a| a, a, x, y) }
}

#[inline(always)]
fn add_all<T: Scalar, const FUSED: bool>(of: impl Fn(T) -> T, a: Matrix<'_, T>, x: &[T], y: &mut [T]) {
    let cols = a.col_count().min(x.len());
    let mut col = 0;
    while col + 8 <= cols {
        add_group::<T, FUSED, 8>(&of, group(a, col, y.len()), &x[col..col + 8], y);
        col += 8;
    }
    if col + 4 <= cols {
        add_group::<T, FUSED, 4>(&of, group(a, col, y.len()), &x[col..col + 4], y);
        col += 4;
    }
    while col < cols {
        add_group::<T, FUSED, 1>(&of, group(a, col, y.len()), &x[col..=col], y);
        col += 1;
    }
}

#[inline(always)]
fn add_group<T: Scalar, const FUSED: bool, const WIDTH: usize>(of: impl Fn(T) -> T, a: [&[T]; WIDTH], x: &[T], y: &mut [T]) {
    let x: [T; WIDTH] = std::array::from_fn(|at| x[at]);
    let len = y.len();
    let a = a.map(|column| &column[..len]);
    for row in 0..len {
        let mut sum = y[row];
        for at in 0..WIDTH {
            sum = sum.add_product::<FUSED>(of(a[at][row]), x[at]);
        }
        y[row] = sum;
    }
}

#[inline(always)]
fn add_dots_body<T: Scalar, const FUSED: bool>(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], y: &mut [T]) {
    if conj && T::COMPLEX {
        dot_all::<T, FUSED>(T::conj, alpha, a, x, y);
    } else {
        dot_all::<T, FUSED>(|a| a, alpha, a, x, y);
    }
}

#[inline(always)]
fn dot_all<T: Scalar, const FUSED: bool>(of: impl Fn(T) -> T, alpha: T, a: Matrix<'_, T>, x: &[T], y: &mut [T]) {
    let cols = a.col_count().min(y.len());
    let mut col = 0;
    while col + 4 <= cols {
        let sums = dot_group::<T, FUSED, 4>(&of, group(a, col, x.len()), x);
        for (y, sum) in y[col..].iter_mut().zip(sums) {
            *y = y.add_product::<FUSED>(alpha, sum);
        }
        col += 4;
    }
    while col < cols {
        let [sum] = dot_group::<T, FUSED, 1>(&of, group(a, col, x.len()), x);
        y[col] = y[col].add_product::<FUSED>(alpha, sum);
        col += 1;
    }
}

#[inline(always)]
fn dot_group<T: Scalar, const FUSED: bool, const WIDTH: usize>(of: impl Fn(T) -> T, a: [&[T]; WIDTH], x: &[T]) -> [T; WIDTH] {
    let mut lanes = [[T::ZERO; LANES]; WIDTH];
    let (x, x_rest) = x.as_chunks::<LANES>();
    let columns = a.map(|column| &column.as_chunks::<LANES>().0[..x.len()]);
    for (at, x) in x.iter().enumerate() {
        for (lanes, column) in lanes.iter_mut().zip(&columns) {
            // Made anew, not changed in place: so the compiler keeps the lanes in registers.
            *lanes = std::array::from_fn(|lane| lanes[lane].add_product::<FUSED>(of(column[at][lane]), x[lane]));
        }
    }
    let rest = x.len() * LANES;
    for (at, &x) in x_rest.iter().enumerate() {
        for (lanes, column) in lanes.iter_mut().zip(&a) {
            lanes[at] = lanes[at].add_product::<FUSED>(of(column[rest + at]), x);
        }
    }
    lanes.map(fold)
}

#[inline(always)]
fn column_and_row_body<T: Scalar, const FUSED: bool>(conj: [bool; 2], alpha: T, a: &[T], x: &[T], y: &mut [T]) -> T {
    if T::COMPLEX {
        both::<T, FUSED>(|a| a.conj_if(conj[0]), |a| a.conj_if(conj[1]), alpha, a, x, y)
    } else {
        both::<T, FUSED>(|a| a, |a| a, alpha, a, x, y)
    }
}

#[inline(always)]
fn both<T: Scalar, const FUSED: bool>(
    column: impl Fn(T) -> T,
    row: impl Fn(T) -> T,
    alpha: T,
    a: &[T],
    x: &[T],
    y: &mut [T],
) -> T {
    let len = a.len();
    let (x, y) = (&x[..len], &mut y[..len]);
    let mut lanes = [T::ZERO; LANES];
    let whole = len / LANES * LANES;
    let (ys, _) = y.as_chunks_mut::<LANES>();
    for ((a, x), y) in a.as_chunks::<LANES>().0.iter().zip(x.as_chunks::<LANES>().0).zip(ys) {
        for at in 0..LANES {
            y[at] = y[at].add_product::<FUSED>(column(a[at]), alpha);
            lanes[at] = lanes[at].add_product::<FUSED>(row(a[at]), x[at]);
        }
    }
    for at in whole..len {
        y[at] = y[at].add_product::<FUSED>(column(a[at]), alpha);
        lanes[at - whole] = lanes[at - whole].add_product::<FUSED>(row(a[at]), x[at]);
    }
    fold(lanes)
}
