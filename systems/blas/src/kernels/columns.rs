//! The loops of level 2: several columns of a matrix at once, so that a vector is read once for all of them.
//!
//! Each element of the result has one chain of sums, the same however many columns or rows a call is given.
use super::dispatch::by_processor;
use super::level1::fold;
use super::matrix::Matrix;
use crate::scalar::Scalar;
use std::array::from_fn;
use std::hint::black_box;

/// So many columns are multiplied with a vector at a time, if there are as many.
const DOTS: usize = 8;
/// So many columns of a symmetric matrix are seen as columns and as rows at a time.
pub(crate) const BOTH: usize = 4;

by_processor! {
    /// `y += a * x`, of `conj(a)` if so asked. The columns of `a` lie side by side in memory, as long as `y`.
    fn add_columns(conj: bool, a: Matrix<'_, T>, x: &[T], y: &mut [T]) = add_columns_body
}
by_processor! {
    /// `y[j] += alpha * sum(a[i, j] * x[i])`, of `conj(a)` if so asked. The columns of `a` are as long as `x`.
    fn add_dots(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], y: &mut [T]) = add_dots_body
}
by_processor! {
    /// Columns of a symmetric matrix, seen as columns and as rows: `y += alpha * a`, and the sums of `a * x`. Of each, `conj(a)`
    /// may be asked for.
    fn columns_and_rows(conj: [bool; 2], alpha: [T; BOTH], a: [&[T]; BOTH], x: &[T], y: &mut [T]) -> [T; BOTH] = both_body
}

/// `WIDTH` columns from `col` on, cut to a length that the compiler can see to be common.
#[inline(always)]
fn group<T: Scalar, const WIDTH: usize>(a: Matrix<'_, T>, col: usize, len: usize) -> [&[T]; WIDTH] {
    from_fn(|at| {
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
    let x: [T; WIDTH] = from_fn(|at| x[at]);
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
    // One register of 512 bits for each column.
    match (conj && T::COMPLEX, size_of::<T>()) {
        (false, 4) => dot_all::<T, FUSED, 16>(|a| a, alpha, a, x, y),
        (false, _) => dot_all::<T, FUSED, 8>(|a| a, alpha, a, x, y),
        (true, _) => dot_all::<T, FUSED, 8>(T::conj, alpha, a, x, y),
    }
}

#[inline(always)]
fn dot_all<T: Scalar, const FUSED: bool, const LANES: usize>(
    of: impl Fn(T) -> T,
    alpha: T,
    a: Matrix<'_, T>,
    x: &[T],
    y: &mut [T],
) {
    let cols = a.col_count().min(y.len());
    let mut col = 0;
    while col + DOTS <= cols {
        let sums = dot_group::<T, FUSED, LANES, DOTS>(&of, group(a, col, x.len()), x);
        for (y, sum) in y[col..col + DOTS].iter_mut().zip(sums) {
            *y = y.add_product::<FUSED>(alpha, sum);
        }
        col += DOTS;
    }
    while col < cols {
        let [sum] = dot_group::<T, FUSED, LANES, 1>(&of, group(a, col, x.len()), x);
        y[col] = y[col].add_product::<FUSED>(alpha, sum);
        col += 1;
    }
}

/// The sums of some columns' products with `x`: a chain of lanes each, and what is left over one by one.
#[inline(always)]
fn dot_group<T: Scalar, const FUSED: bool, const LANES: usize, const WIDTH: usize>(
    of: impl Fn(T) -> T,
    a: [&[T]; WIDTH],
    x: &[T],
) -> [T; WIDTH] {
    let mut lanes = [[T::ZERO; LANES]; WIDTH];
    let (chunks, rest) = x.as_chunks::<LANES>();
    let columns = a.map(|column| &column.as_chunks::<LANES>().0[..chunks.len()]);
    for (at, x) in chunks.iter().enumerate() {
        for (lanes, column) in lanes.iter_mut().zip(&columns) {
            // Made anew, not changed in place: so the compiler keeps the lanes in registers.
            *lanes = from_fn(|lane| lanes[lane].add_product::<FUSED>(of(column[at][lane]), x[lane]));
        }
    }
    let mut sums = fold_all(lanes);
    let from = chunks.len() * LANES;
    for (at, &x) in rest.iter().enumerate() {
        sums = from_fn(|col| sums[col].add_product::<FUSED>(of(a[col][from + at]), x));
    }
    sums
}

/// Adds the lanes of each column, which are eight or sixteen, in an order that the source fixes.
#[inline(always)]
fn fold_all<T: Scalar, const LANES: usize, const WIDTH: usize>(lanes: [[T; LANES]; WIDTH]) -> [T; WIDTH] {
    lanes.map(|lanes| {
        let mut eight: [T; 8] = from_fn(|at| lanes[at]);
        if LANES == 16 {
            for at in 0..8 {
                eight[at] += lanes[at + LANES / 2];
            }
        }
        fold(eight, |sum, other| sum + other)
    })
}

#[inline(always)]
pub(super) fn both_body<T: Scalar, const FUSED: bool>(
    conj: [bool; 2],
    alpha: [T; BOTH],
    a: [&[T]; BOTH],
    x: &[T],
    y: &mut [T],
) -> [T; BOTH] {
    if T::COMPLEX {
        both::<T, FUSED, 8>(|a| a.conj_if(conj[0]), |a| a.conj_if(conj[1]), alpha, a, x, y)
    } else if size_of::<T>() == 4 {
        both::<T, FUSED, 16>(|a| a, |a| a, alpha, a, x, y)
    } else {
        both::<T, FUSED, 8>(|a| a, |a| a, alpha, a, x, y)
    }
}

#[inline(always)]
fn both<T: Scalar, const FUSED: bool, const LANES: usize>(
    column: impl Fn(T) -> T,
    row: impl Fn(T) -> T,
    alpha: [T; BOTH],
    a: [&[T]; BOTH],
    x: &[T],
    y: &mut [T],
) -> [T; BOTH] {
    let len = x.len().min(y.len());
    let (x, y, a) = (&x[..len], &mut y[..len], a.map(|a| &a[..len]));
    let mut lanes = [[T::ZERO; LANES]; BOTH];
    let (chunks, rest) = x.as_chunks::<LANES>();
    let columns = a.map(|a| &a.as_chunks::<LANES>().0[..chunks.len()]);
    let ys = &mut y.as_chunks_mut::<LANES>().0[..chunks.len()];
    for at in 0..chunks.len() {
        let (x, mut sum) = (chunks[at], ys[at]);
        for col in 0..BOTH {
            let a = columns[col][at];
            for lane in 0..LANES {
                sum[lane] = sum[lane].add_product::<FUSED>(column(a[lane]), alpha[col]);
            }
            for lane in 0..LANES {
                lanes[col][lane] = lanes[col][lane].add_product::<FUSED>(row(a[lane]), x[lane]);
            }
        }
        ys[at] = sum;
    }
    // Through memory: else the compiler lays columns side by side in registers, and shuffles in the loop.
    let mut sums = fold_all(black_box(lanes));
    let from = chunks.len() * LANES;
    for (at, &x) in rest.iter().enumerate() {
        let at = from + at;
        y[at] = (0..BOTH).fold(y[at], |sum, col| sum.add_product::<FUSED>(column(a[col][at]), alpha[col]));
        sums = from_fn(|col| sums[col].add_product::<FUSED>(row(a[col][at]), x));
    }
    sums
}
