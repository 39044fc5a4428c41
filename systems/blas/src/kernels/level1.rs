//! The loops of level 1 over elements that lie side by side.
use super::dispatch::by_processor;
use super::lines::{Pieces, in_pieces, load, plus};
use crate::scalar::Scalar;
use std::hint::black_box;

/// Lanes of a long sum, so that additions need not wait for each other: eight chains of 256 bits in double
/// precision.
const LANES: usize = 32;

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
    /// The sum of `x * y`, or of `conj(x) * y` if `conj`.
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
pub(super) fn axpy_body<T: Scalar, const FUSED: bool>(alpha: T, x: &[T], y: &mut [T]) {
    struct Axpy<'a, T, const FUSED: bool>(T, &'a [T], &'a mut [T]);
    impl<T: Scalar, const FUSED: bool> Pieces for Axpy<'_, T, FUSED> {
        #[inline(always)]
        fn piece<const LEN: usize>(&mut self, at: usize) {
            let (x, y) = (&self.1[at..at + LEN], &mut self.2[at..at + LEN]);
            y.copy_from_slice(&plus::<T, FUSED, LEN>(load(y), self.0, &load(x)));
        }
    }
    let len = x.len().min(y.len());
    in_pieces::<32>(len, &mut Axpy::<T, FUSED>(alpha, &x[..len], &mut y[..len]));
}

#[inline(always)]
fn scal_body<T: Scalar, const FUSED: bool>(alpha: T, x: &mut [T]) {
    change(x, |x| alpha * x);
}

/// `y *= beta` as levels 2 and 3 mean it: if `beta` is nought, `y` is not read.
#[inline(always)]
pub(super) fn scale_body<T: Scalar>(beta: T, y: &mut [T]) {
    if beta == T::ZERO {
        change(y, |_| T::ZERO);
    } else if beta != T::ONE {
        change(y, |y| beta * y);
    }
}

/// Changes every element.
#[inline(always)]
fn change<T: Scalar>(x: &mut [T], to: impl Fn(T) -> T) {
    struct Change<'a, T, To>(&'a mut [T], To);
    impl<T: Scalar, To: Fn(T) -> T> Pieces for Change<'_, T, To> {
        #[inline(always)]
        fn piece<const LEN: usize>(&mut self, at: usize) {
            let x = &mut self.0[at..at + LEN];
            x.copy_from_slice(&load::<T, LEN>(x).map(&self.1));
        }
    }
    in_pieces::<32>(x.len(), &mut Change(x, to));
}

#[inline(always)]
fn rot_body<T: Scalar, const FUSED: bool>(c: T::Real, s: T::Real, x: &mut [T], y: &mut [T]) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (x.scale(c) + y.scale(s), y.scale(c) - x.scale(s));
    }
}

/// The upper half of the lanes joined to the lower one. An array of its own: so the compiler keeps it in
/// registers.
#[inline(always)]
pub(super) fn halve<N: Copy, const WIDTH: usize, const HALF: usize>(lanes: [N; WIDTH], join: impl Fn(N, N) -> N) -> [N; HALF] {
    const { assert!(WIDTH == 2 * HALF) };
    let mut half = [lanes[0]; HALF];
    for at in 0..HALF {
        half[at] = join(lanes[at], lanes[at + HALF]);
    }
    half
}

/// Reduces pairs of elements, each taken into a lane by `step`; the lanes are put together by `join`. Pairs
/// that are left over are taken into fewer lanes each time that these are halved, so that none is taken
/// alone.
#[inline(always)]
fn reduce<T: Scalar, N: Copy>(x: &[T], y: &[T], start: N, step: impl Fn(N, T, T) -> N, join: impl Fn(N, N) -> N) -> N {
    let len = x.len().min(y.len());
    let (x, y) = (&x[..len], &y[..len]);
    let (mut at, mut eight) = (0, [start; 8]);
    if len >= LANES {
        let mut lanes = [start; LANES];
        while len - at >= LANES {
            lanes = take(lanes, x, y, at, &step);
            at += LANES;
        }
        // Through memory: else the compiler sees that half of them are added to the other, and makes the loop
        // of half registers.
        eight = black_box(halve::<N, 16, 8>(halve::<N, LANES, 16>(lanes, &join), &join));
    }
    if len & 16 != 0 {
        eight = take(take(eight, x, y, at, &step), x, y, at + 8, &step);
        at += 16;
    }
    if len & 8 != 0 {
        eight = take(eight, x, y, at, &step);
        at += 8;
    }
    let mut four = halve::<N, 8, 4>(eight, &join);
    if len & 4 != 0 {
        four = take(four, x, y, at, &step);
        at += 4;
    }
    let mut two = halve::<N, 4, 2>(four, &join);
    if len & 2 != 0 {
        two = take(two, x, y, at, &step);
        at += 2;
    }
    let one = join(two[0], two[1]);
    if len & 1 != 0 { step(one, x[at], y[at]) } else { one }
}

/// Takes as many pairs as there are lanes, from `at` on.
#[inline(always)]
fn take<T: Scalar, N: Copy, const WIDTH: usize>(
    mut lanes: [N; WIDTH],
    x: &[T],
    y: &[T],
    at: usize,
    step: impl Fn(N, T, T) -> N,
) -> [N; WIDTH] {
    let (x, y) = (&x[at..at + WIDTH], &y[at..at + WIDTH]);
    for lane in 0..WIDTH {
        lanes[lane] = step(lanes[lane], x[lane], y[lane]);
    }
    lanes
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

    #[test]
    fn every_element_counts_once_whatever_the_length() {
        // Powers of two and small factors: every order of sums is exact.
        let x: Vec<f64> = (0..200).map(|at| f64::from(at % 7) + 1.0).collect();
        let y: Vec<f64> = (0..200).map(|at| f64::from(at * at % 64)).collect();
        for len in 0..200 {
            let (x, y) = (&x[..len], &y[..len]);
            let sum = reduce(x, y, 0.0, |sum: f64, x, y| x.mul_add(y, sum), |sum, other| sum + other);
            assert_eq!(sum, x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>(), "{len} elements");
            let mut sums = y.to_vec();
            axpy(2.0, x, &mut sums);
            assert!(sums.iter().zip(x.iter().zip(y)).all(|(sum, (x, y))| *sum == 2.0 * x + y), "{len} elements");
        }
    }

    #[test]
    fn a_sum_of_nothing_but_negative_noughts_is_nought() {
        let (x, y) = ([-0.0; 40], [1.0; 40]);
        assert!((0..40).all(|len| dot(false, &x[..len], &y[..len]) == 0.0));
    }
}
