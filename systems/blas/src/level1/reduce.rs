//! The routines of level 1 that make one number of vectors: `dot`, `nrm2`, `asum`, `iamax` and their kin.
//!
//! The sums run in blocks of a fixed grid, whose sums are added in a fixed tree, so that a team gets the same
//! bits.
use super::parts::{Asum, Dot, Iamax, Nrm2};
use crate::crossover::{Routine, is_small, memory, worth};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::level1 as kernels;
use crate::kernels::vector::Vector;
use crate::scalar::{Real, Scalar};
use crate::team::shared;
use std::ops::{Add, Range};

/// The least block of a sum, in elements: shorter ones would cost more to fold than to add.
const BLOCK: usize = 1024;

/// The grid of a sum over `len` elements.
pub(crate) fn grid(len: usize) -> Grid {
    Grid::even(len, BLOCK, 32)
}

/// Adds the values `of` some cells, pairwise: neighbours first, an odd one waits for the next round.
pub(crate) fn tree<N: Add<Output = N>>(cells: Range<usize>, of: &impl Fn(usize) -> N) -> N {
    if cells.len() <= 1 {
        return of(cells.start);
    }
    let middle = cells.start + cells.len().next_power_of_two() / 2;
    tree(cells.start..middle, of) + tree(middle..cells.end, of)
}

/// The sums of all blocks, added as a team would add them; `one` gives the sum of a vector that is one block.
#[inline(always)]
fn blocks<N: Scalar>(len: usize, one: impl Fn() -> N, block: impl Fn(Range<usize>) -> N) -> N {
    if len <= BLOCK { one() } else { many(len, block) }
}

fn many<N: Scalar>(len: usize, block: impl Fn(Range<usize>) -> N) -> N {
    let grid = grid(len);
    tree(0..grid.cells(), &|cell| block(grid.span(cell..cell + 1)))
}

/// The sum of `x[i] * y[i]`; nothing is conjugated.
///
/// # Errors
/// If the lengths differ.
#[inline(always)]
pub fn dot<T: Scalar>(x: Vector<'_, T>, y: Vector<'_, T>) -> Result<T, Error> {
    dotu(x, y)
}

/// The sum of `x[i] * y[i]`; nothing is conjugated.
///
/// # Errors
/// If the lengths differ.
#[inline(always)]
pub fn dotu<T: Scalar>(x: Vector<'_, T>, y: Vector<'_, T>) -> Result<T, Error> {
    dot_of("dot", false, x, y)
}

/// The sum of `conj(x[i]) * y[i]`.
///
/// # Errors
/// If the lengths differ.
#[inline(always)]
pub fn dotc<T: Scalar>(x: Vector<'_, T>, y: Vector<'_, T>) -> Result<T, Error> {
    dot_of("dotc", true, x, y)
}

/// The sum of products.
#[inline(always)]
fn dot_of<T: Scalar>(routine: &'static str, conj: bool, x: Vector<'_, T>, y: Vector<'_, T>) -> Result<T, Error> {
    if x.len() <= BLOCK
        && is_small(Routine::Dot, memory::<T>(x.len()))
        && x.len() == y.len()
        && let (Some(x), Some(y)) = (x.as_slice(), y.as_slice())
    {
        return Ok(kernels::dot(conj, x, y));
    }
    dot_otherwise(routine, conj, x, y)
}

/// All that short vectors have no use for, apart, so that their arguments stay in registers.
#[inline(never)]
fn dot_otherwise<T: Scalar>(routine: &'static str, conj: bool, x: Vector<'_, T>, y: Vector<'_, T>) -> Result<T, Error> {
    same(routine, 4, "y", y.len(), x.len())?;
    Ok(if worth(Routine::Dot, memory::<T>(x.len())) { shared(Dot::of(conj, x, y)) } else { dot_here(conj, x, y) })
}

/// The sum of products, computed by the caller.
pub(crate) fn dot_here<T: Scalar>(conj: bool, x: Vector<'_, T>, y: Vector<'_, T>) -> T {
    blocks(x.len(), || dot_block(conj, x, y), |span| dot_block(conj, x.range(span.clone()), y.range(span)))
}

/// One block's sum of products.
pub(crate) fn dot_block<T: Scalar>(conj: bool, x: Vector<'_, T>, y: Vector<'_, T>) -> T {
    if let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) {
        return kernels::dot(conj, x, y);
    }
    x.iter().zip(y.iter()).fold(T::ZERO, |sum, (x, y)| sum.add_product::<false>(x.conj_if(conj), y))
}

/// The sum of `x[i] * y[i]` in double precision.
///
/// # Errors
/// If the lengths differ.
pub fn dsdot(x: Vector<'_, f32>, y: Vector<'_, f32>) -> Result<f64, Error> {
    same("dsdot", 4, "y", y.len(), x.len())?;
    Ok(x.iter().zip(y.iter()).fold(0.0, |sum, (x, y)| sum + f64::from(x) * f64::from(y)))
}

/// `b` and the sum of `x[i] * y[i]`, added in double precision.
///
/// # Errors
/// If the lengths differ.
pub fn sdsdot(b: f32, x: Vector<'_, f32>, y: Vector<'_, f32>) -> Result<f32, Error> {
    same("sdsdot", 5, "y", y.len(), x.len())?;
    Ok((f64::from(b) + dsdot(x, y)?) as f32)
}

/// The sum of `|re| + |im|`.
#[must_use]
pub fn asum<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    if worth(Routine::Asum, memory::<T>(x.len())) { shared(Asum::new(x)) } else { asum_here(x) }
}

/// The sum of absolute values, computed by the caller.
pub(crate) fn asum_here<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    blocks(x.len(), || asum_block(x), |span| asum_block(x.range(span)))
}

/// One block's sum of absolute values.
pub(crate) fn asum_block<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    match x.as_slice() {
        Some(x) => kernels::asum(x),
        None => x.iter().fold(T::Real::ZERO, |sum, x| sum + x.abs1()),
    }
}

/// The Euclidean norm, safe against overflow and underflow; any increment will do.
///
/// If an element is not a number, neither is the norm; else if one is infinite, so is the norm.
#[must_use]
pub fn nrm2<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    if worth(Routine::Nrm2, memory::<T>(x.len())) { shared(Nrm2::new(x)) } else { nrm2_here(x) }
}

/// The norm, computed by the caller.
pub(crate) fn nrm2_here<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    norm_of(x, blocks(x.len(), || squares_block(x), |span| squares_block(x.range(span))))
}

/// One block's sum of squares, which may overflow or underflow.
pub(crate) fn squares_block<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    match x.as_slice() {
        Some(x) => kernels::squares(x),
        None => x.iter().fold(T::Real::ZERO, |sum, x| sum + (x.re() * x.re() + x.im() * x.im())),
    }
}

/// The norm from the sum of squares: its root, unless squares were lost.
pub(crate) fn norm_of<T: Scalar>(x: Vector<'_, T>, squares: T::Real) -> T::Real {
    // A square that underflowed is in error by at most the least number there is, EPSILON * MIN_POSITIVE.
    // Beside a sum that is 1 / EPSILON^2 times as large, as many of them as memory can hold do not matter.
    let safe = T::Real::MIN_POSITIVE / T::Real::EPSILON;
    if squares.is_nan() || (squares >= safe && squares.is_finite()) { squares.sqrt() } else { scaled_norm(x) }
}

/// The norm with all elements scaled by a power of two, so that the greatest is about one.
fn scaled_norm<T: Scalar>(x: Vector<'_, T>) -> T::Real {
    let mut most = T::Real::ZERO;
    for x in x.iter() {
        for part in [x.re().abs(), x.im().abs()] {
            most = if part > most { part } else { most };
        }
    }
    if most == T::Real::ZERO || !most.is_finite() {
        return most;
    }
    let unit = most.binade();
    let square = |part: T::Real| (part / unit) * (part / unit);
    unit * x.iter().fold(T::Real::ZERO, |sum, x| sum + square(x.re()) + square(x.im())).sqrt()
}

/// The index, from nought, of the first element of the greatest `|re| + |im|`; none if there are no elements.
///
/// As in the reference: an element that is not a number is passed over, unless it is the first, which is then
/// the answer.
#[must_use]
pub fn iamax<T: Scalar>(x: Vector<'_, T>) -> Option<usize> {
    if worth(Routine::Iamax, memory::<T>(x.len())) { shared(Iamax::new(x)) } else { iamax_here(x) }
}

/// The index of the greatest element, computed by the caller.
pub(crate) fn iamax_here<T: Scalar>(x: Vector<'_, T>) -> Option<usize> {
    if x.is_empty() || x.get(0).abs1().is_nan() {
        return (!x.is_empty()).then_some(0);
    }
    iamax_block(x).map(|(at, _)| at)
}

/// The first of the greatest elements of one block, and its size; elements that are not numbers are passed
/// over.
pub(crate) fn iamax_block<T: Scalar>(x: Vector<'_, T>) -> Option<(usize, T::Real)> {
    if let Some(x) = x.as_slice() {
        let most = kernels::amax(x);
        return x.iter().position(|x| x.abs1() == most).map(|at| (at, most));
    }
    x.iter().enumerate().fold(None, |best, (at, x)| match best {
        Some((_, most)) if x.abs1() > most => Some((at, x.abs1())),
        None if !x.abs1().is_nan() => Some((at, x.abs1())),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a vector of `len` elements gives the bits of the grid, whichever way the sum goes.
    fn block_and_grid_agree<T: Scalar>(len: usize, inc: isize, element: impl Fn(f64) -> T) {
        let memory: Vec<T> = (0..2 * len + 2).map(|at| element((at as f64 * 0.7).sin())).collect();
        let x = Vector::new(&memory, len, inc).unwrap();
        let y = Vector::new(&memory[1..], len, inc).unwrap();
        for conj in [false, true] {
            assert_eq!(dot_here(conj, x, y), many(len, |at| dot_block(conj, x.range(at.clone()), y.range(at))), "dot {len}");
        }
        assert_eq!(asum_here(x), many(len, |at| asum_block(x.range(at))), "asum {len}");
        assert_eq!(nrm2_here(x), norm_of(x, many(len, |at| squares_block(x.range(at)))), "nrm2 {len}");
    }

    #[test]
    fn a_vector_of_one_block_gives_the_bits_of_the_grid() {
        for len in (0..=17).chain([63, 64, 65, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 3 * BLOCK]) {
            for inc in [1, 2, -1] {
                block_and_grid_agree(len, inc, |value| value);
                block_and_grid_agree(len, inc, |value| value as f32);
                block_and_grid_agree(len, inc, |value| crate::c64::new(value, 1.0 - value));
            }
        }
        assert!((0..=BLOCK).all(|len| grid(len).cells() == 1), "what is one block has one cell");
    }
}
