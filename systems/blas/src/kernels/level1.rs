//! The loops of level 1 over elements that lie side by side.
use super::dispatch::by_processor;
use crate::scalar::Scalar;

/// In how many lanes a sum runs, so that additions need not wait for each other: eight chains of 512 bits in double precision.
const LANES: usize = 64;

by_processor! {
    /// `y += alpha * x`
    fn axpy(alpha: T, x: &[T], y: &mut [T]) = axpy_body
}
by_processor! {
    /// `x *= alpha`
    fn scal(alpha: T, x: &mut [T]) = scal_body
}
by_processor! {
    /// `(x, y) = (c * x + s * y, c * y - s * x)`
    fn rot(c: T::Real, s: T::Real, x: &mut [T], y: &mut [T]) = rot_body
}
by_processor! {
    /// The sum of `x * y`, of `conj(x) * y` if so asked.
    fn dot(conj: bool, x: &[T], y: &[T]) -> T = dot_body
}
by_processor! {
    /// The sum of `|re| + |im|`.
    fn asum(x: &[T]) -> T::Real = asum_body
}
by_processor! {
    /// The sum of the squares of all parts.
    fn squares(x: &[T]) -> T::Real = squares_body
}
by_processor! {
    /// The greatest `|re| + |im|`; minus one if there is no number.
    fn amax(x: &[T]) -> T::Real = amax_body
}

#[inline(always)]
fn axpy_body<T: Scalar, const FUSED: bool>(alpha: T, x: &[T], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = y.add_product::<FUSED>(alpha, x);
    }
}

#[inline(always)]
fn scal_body<T: Scalar, const FUSED: bool>(alpha: T, x: &mut [T]) {
    for x in x {
        *x = alpha * *x;
    }
}

#[inline(always)]
fn rot_body<T: Scalar, const FUSED: bool>(c: T::Real, s: T::Real, x: &mut [T], y: &mut [T]) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (x.scale(c) + y.scale(s), y.scale(c) - x.scale(s));
    }
}

/// The upper half of the lanes joined to the lower one. An array of its own: so the compiler keeps it in registers.
#[inline(always)]
pub(super) fn halve<N: Copy, const WIDTH: usize, const HALF: usize>(lanes: [N; WIDTH], join: impl Fn(N, N) -> N) -> [N; HALF] {
    const { assert!(WIDTH == 2 * HALF) };
    let mut half = [lanes[0]; HALF];
    for at in 0..HALF {
        half[at] = join(lanes[at], lanes[at + HALF]);
    }
    half
}

/// Eight lanes joined, in an order that the source fixes.
#[inline(always)]
pub(super) fn fold<N: Copy>(lanes: [N; 8], join: impl Fn(N, N) -> N) -> N {
    let [first, second] = halve::<N, 4, 2>(halve::<N, 8, 4>(lanes, &join), &join);
    join(first, second)
}

/// Reduces pairs of elements, each taken into a lane by `step`; the lanes are put together by `join`. What is left over goes on in
/// eight lanes, and the last few one by one.
#[inline(always)]
fn reduce<T: Scalar, N: Copy>(x: &[T], y: &[T], start: N, step: impl Fn(N, T, T) -> N, join: impl Fn(N, N) -> N) -> N {
    let len = x.len().min(y.len());
    let ((groups, x), (others, y)) = (x[..len].as_chunks::<LANES>(), y[..len].as_chunks::<LANES>());
    // Lanes in which nothing has been taken join to what they started with: a short vector begins with the last eight.
    let mut lanes = if groups.is_empty() { [start; 8] } else { reduce_groups(groups, others, start, &step, &join) };
    let ((chunks, x), (others, y)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    for (x, y) in chunks.iter().zip(others) {
        for at in 0..8 {
            lanes[at] = step(lanes[at], x[at], y[at]);
        }
    }
    let mut total = fold(lanes, join);
    for (&x, &y) in x.iter().zip(y) {
        total = step(total, x, y);
    }
    total
}

/// The groups of [`reduce`], put together in eight lanes.
#[inline(always)]
fn reduce_groups<T: Scalar, N: Copy>(
    x: &[[T; LANES]],
    y: &[[T; LANES]],
    start: N,
    step: impl Fn(N, T, T) -> N,
    join: impl Fn(N, N) -> N,
) -> [N; 8] {
    let mut lanes = [start; LANES];
    for (x, y) in x.iter().zip(y) {
        // One flat loop over all lanes: the compiler makes whole registers of it.
        for at in 0..LANES {
            lanes[at] = step(lanes[at], x[at], y[at]);
        }
    }
    halve::<N, 16, 8>(halve::<N, 32, 16>(halve::<N, LANES, 32>(lanes, &join), &join), &join)
}

#[inline(always)]
pub(super) fn dot_body<T: Scalar, const FUSED: bool>(conj: bool, x: &[T], y: &[T]) -> T {
    let add = |sum: T, other: T| sum + other;
    if conj && T::COMPLEX {
        reduce(x, y, T::ZERO, |sum: T, x: T, y| sum.add_product::<FUSED>(x.conj(), y), add)
    } else {
        reduce(x, y, T::ZERO, |sum: T, x, y| sum.add_product::<FUSED>(x, y), add)
    }
}

#[inline(always)]
fn asum_body<T: Scalar, const FUSED: bool>(x: &[T]) -> T::Real {
    reduce(x, x, T::Real::ZERO, |sum, x, _| sum + x.abs1(), |sum, other| sum + other)
}

#[inline(always)]
fn squares_body<T: Scalar, const FUSED: bool>(x: &[T]) -> T::Real {
    let step = |sum: T::Real, x: T, _| {
        let sum = sum.add_product::<FUSED>(x.re(), x.re());
        if T::COMPLEX { sum.add_product::<FUSED>(x.im(), x.im()) } else { sum }
    };
    reduce(x, x, T::Real::ZERO, step, |sum, other| sum + other)
}

#[inline(always)]
fn amax_body<T: Scalar, const FUSED: bool>(x: &[T]) -> T::Real {
    let greater = |most: T::Real, size: T::Real| if size > most { size } else { most };
    reduce(x, x, -T::Real::ONE, |most, x, _| greater(most, x.abs1()), greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`reduce`] gives if every vector, however short, is taken in groups of all lanes.
    fn grouped(x: &[f64], y: &[f64]) -> f64 {
        let step = |sum: f64, x: f64, y: f64| x.mul_add(y, sum);
        let (groups, others) = (x.as_chunks().0, y.as_chunks().0);
        let mut lanes = reduce_groups(groups, others, 0.0, step, |sum, other| sum + other);
        let from = groups.len() * LANES;
        let (chunks, rest) = x[from..].as_chunks::<8>();
        for (chunk, x) in chunks.iter().enumerate() {
            lanes = std::array::from_fn(|at| step(lanes[at], x[at], y[from + chunk * 8 + at]));
        }
        let start = x.len() - rest.len();
        (start..x.len()).fold(fold(lanes, |sum, other| sum + other), |sum, at| step(sum, x[at], y[at]))
    }

    #[test]
    fn a_short_sum_has_the_bits_of_one_in_all_lanes() {
        let x: Vec<f64> = (0..200).map(|at| (f64::from(at) * 0.3).sin()).collect();
        let y: Vec<f64> = (0..200).map(|at| if at % 5 == 0 { -0.0 } else { (f64::from(at) * 0.9).cos() }).collect();
        for len in 0..200 {
            let (x, y) = (&x[..len], &y[..len]);
            let sum = reduce(x, y, 0.0, |sum: f64, x, y| x.mul_add(y, sum), |sum, other| sum + other);
            assert_eq!(sum.to_bits(), grouped(x, y).to_bits(), "{len} elements");
        }
    }
}
