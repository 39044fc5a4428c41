//! `C = alpha * A * B + beta * C` by the `gemm` crate, in one thread.
//!
//! The crate sums over runs of `k` whose length depends on the shape of the result as soon as `k` exceeds
//! [`DEPTH`]. A part has another shape than the whole, so the runs are made here and never longer than that.
//! It has other paths for results of at most [`SMALL`] elements and for single rows and columns: the grids of
//! level 3 never cut a larger result into such pieces. And it computes complex tiles at the end of the
//! contiguous direction with other roundings than full ones: there the end is a call of its own, so that it
//! has the same shape in the whole and in the last part, and cells are multiples of [`granule`].
use super::direct;
use super::matrix::{Factor, MatrixLayout, MatrixMut};
use crate::grid::Grid;
use crate::scalar::Scalar;

/// The longest sum that the crate makes in one run, whatever the shape.
const DEPTH: usize = 512;
/// Results of this number of elements or fewer may take another path through the crate.
const SMALL: usize = 256;

/// Products of at most this number of rows and terms are computed without the crate, which packs its factors.
pub(crate) const SMALL_ORDER: usize = 48;

/// The bound instead of [`SMALL_ORDER`] if the left factor must be copied and the crate would not pack it.
const SMALL_DOTS: usize = 16;

/// A multiple of the crate's tiles along the contiguous direction, for all types and vector units.
const TILE: usize = 48;

/// The grid of a result by columns. Each cell is computed as it would be among others, even if only `rows` of
/// its rows are computed at a time.
pub(crate) fn columns<T: Scalar>(rows: usize, c: MatrixLayout) -> Grid {
    let contiguous = c.right.abs() < c.down.abs();
    let multiple = if contiguous && T::COMPLEX { granule(rows) } else { 8 };
    Grid::coarse(c.cols, least_columns(rows), multiple)
}

/// A length of whole tiles along the contiguous direction with which a result `across` wide is not a small
/// one.
fn granule(across: usize) -> usize {
    least_columns(across).next_multiple_of(TILE)
}

/// The fewest columns of a result of `rows` rows that are computed as they would be among more.
fn least_columns(rows: usize) -> usize {
    (SMALL / rows.max(1) + 1).max(2)
}

/// `c = alpha * a * b + beta * c`. If `beta` is nought `c` is not read; if `alpha` is nought `a` and `b` are
/// not.
///
/// # Panics
/// If the shapes do not fit.
#[inline(always)]
pub(crate) fn product<T: Scalar>(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, mut c: MatrixMut<'_, T>) {
    let MatrixLayout { rows, cols, .. } = c.layout;
    let (la, lb) = (a.matrix.layout, b.matrix.layout);
    assert!(la.rows == rows && lb.cols == cols && lb.rows == la.cols, "shapes of a product");
    if rows == 0 || cols == 0 {
        return;
    }
    // Each call gets a view of its own: so this one stays in registers.
    if alpha == T::ZERO || la.cols == 0 {
        return scale(beta, &mut c.reborrow());
    }
    // The crate has a short way of its own for sums of products of rows and columns that both lie side by
    // side.
    let dots = !T::COMPLEX && la.right == 1 && la.down != 1 && lb.down == 1;
    // The bound does not depend on the columns, since a part has fewer of them than the whole.
    if rows.max(la.cols) <= if dots { SMALL_DOTS } else { SMALL_ORDER } {
        return direct::direct(alpha, a, b, beta, None, c.reborrow());
    }
    packed(alpha, a, b, beta, c.reborrow());
}

/// The product by the crate, for shapes that fit and are not empty.
#[inline(never)]
fn packed<T: Scalar>(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, c: MatrixMut<'_, T>) {
    let MatrixLayout { down, right, .. } = c.layout;
    if !T::COMPLEX {
        return runs(alpha, a, b, beta, c);
    }
    // The contiguous direction is the crate's first one.
    let (a, b, c) = if right.abs() < down.abs() { (b.t(), a.t(), c.t()) } else { (a, b, c) };
    let (rows, depth) = (c.row_count(), 0..a.matrix.col_count());
    let granule = granule(c.col_count());
    let end = if rows.is_multiple_of(granule) { rows } else { (rows / granule).saturating_sub(1) * granule };
    let (tiles, rest) = c.split_rows(end);
    for (c, rows) in [(tiles, 0..end), (rest, end..rows)] {
        if !rows.is_empty() {
            runs(alpha, Factor { matrix: a.matrix.block(rows, depth.clone()), ..a }, b, beta, c);
        }
    }
}

/// The product as sums over runs of `k`, for shapes that fit and are not empty.
fn runs<T: Scalar>(alpha: T, a: Factor<'_, T>, b: Factor<'_, T>, beta: T, c: MatrixMut<'_, T>) {
    let MatrixLayout { rows, cols, down, right } = c.layout;
    let (la, lb) = (a.matrix.layout, b.matrix.layout);
    let depth = la.cols;
    assert!(la.rows == rows && lb.cols == cols && lb.rows == depth, "shapes of a product");
    let run = depth.div_ceil(depth.div_ceil(DEPTH).max(1)).max(1);
    let mut beta = beta;
    for from in (0..depth).step_by(run) {
        let k = run.min(depth - from);
        let lhs = a.matrix.first.wrapping_offset(from as isize * la.right);
        let rhs = b.matrix.first.wrapping_offset(from as isize * lb.down);
        let conj = (a.conj && T::COMPLEX, b.conj && T::COMPLEX);
        // SAFETY: the views' constructors have seen to it that their elements can be read, and those of the
        // result written; the shapes have been compared above; and the numbers are of the four types that the
        // crate knows.
        unsafe {
            gemm::gemm(
                rows,
                cols,
                k,
                c.first,
                right,
                down,
                beta != T::ZERO,
                lhs,
                la.right,
                la.down,
                rhs,
                lb.right,
                lb.down,
                beta,
                alpha,
                false,
                conj.0,
                conj.1,
                gemm::Parallelism::None,
            );
        }
        beta = T::ONE;
    }
}

/// `c *= beta`; if that is nought `c` is not read.
pub(crate) fn scale<T: Scalar>(beta: T, c: &mut MatrixMut<'_, T>) {
    if beta == T::ONE {
        return;
    }
    let mut c = if c.layout.down == 1 { c.reborrow() } else { c.reborrow().t() };
    for col in 0..c.col_count() {
        match c.reborrow().col(col).into_slice() {
            Some(column) if beta == T::ZERO => column.fill(T::ZERO),
            Some(column) => super::level1::scal(beta, column),
            None => c.reborrow().col(col).map(|value| if beta == T::ZERO { T::ZERO } else { beta * value }),
        }
    }
}
