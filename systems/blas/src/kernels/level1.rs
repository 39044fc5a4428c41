//! The loops of level 1 over elements that lie side by side.
use super::dispatch::by_processor;
use crate::scalar::Scalar;

/// In how many lanes a sum runs: enough for four chains of 512 bits in double precision.
const LANES: usize = 32;
/// The lanes of a sum of products: so many chains of so many.
const CHAINS: usize = 4;
const CHAIN: usize = 16;

by_processor! {
    /// `y += alpha * x`
    fn axpy(alpha: T, x: &[T], y: &mut [T]) = axpy_body
}
by_processor! {
    /// `x *= alpha`
    fn scal(alpha: T, x: &mut [T]) = scal_body
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

/// Adds the lanes pairwise, in an order that the source fixes.
#[inline(always)]
pub(super) fn fold<T: Scalar, const WIDTH: usize>(mut lanes: [T; WIDTH]) -> T {
    let mut width = WIDTH / 2;
    while width > 0 {
        for at in 0..width {
            let other = lanes[at + width];
            lanes[at] += other;
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn dot_body<T: Scalar, const FUSED: bool>(conj: bool, x: &[T], y: &[T]) -> T {
    if conj && T::COMPLEX { dot_lanes::<T, FUSED>(T::conj, x, y) } else { dot_lanes::<T, FUSED>(|x| x, x, y) }
}

#[inline(always)]
fn dot_lanes<T: Scalar, const FUSED: bool>(of: impl Fn(T) -> T, x: &[T], y: &[T]) -> T {
    let len = x.len().min(y.len());
    let ((xs, x_rest), (ys, y_rest)) = (x[..len].as_chunks::<CHAIN>(), y[..len].as_chunks::<CHAIN>());
    let mut lanes = [[T::ZERO; CHAIN]; CHAINS];
    for (xs, ys) in xs.chunks(CHAINS).zip(ys.chunks(CHAINS)) {
        for ((lanes, x), y) in lanes.iter_mut().zip(xs).zip(ys) {
            // Made anew, not changed in place: so the compiler keeps the lanes in registers.
            *lanes = std::array::from_fn(|at| lanes[at].add_product::<FUSED>(of(x[at]), y[at]));
        }
    }
    for (at, (&x, &y)) in x_rest.iter().zip(y_rest).enumerate() {
        lanes[0][at] = lanes[0][at].add_product::<FUSED>(of(x), y);
    }
    fold(lanes.map(fold))
}

#[inline(always)]
fn reduce_lanes<T: Scalar>(x: &[T], start: T::Real, step: impl Fn(T::Real, T) -> T::Real) -> [T::Real; LANES] {
    let mut lanes = [start; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for x in chunks {
        for at in 0..LANES {
            lanes[at] = step(lanes[at], x[at]);
        }
    }
    for (at, &x) in rest.iter().enumerate() {
        lanes[at] = step(lanes[at], x);
    }
    lanes
}

#[inline(always)]
fn asum_body<T: Scalar, const FUSED: bool>(x: &[T]) -> T::Real {
    fold(reduce_lanes(x, T::Real::ZERO, |sum, x| sum + x.abs1()))
}

#[inline(always)]
fn squares_body<T: Scalar, const FUSED: bool>(x: &[T]) -> T::Real {
    fold(reduce_lanes(x, T::Real::ZERO, |sum, x: T| {
        let sum = sum.add_product::<FUSED>(x.re(), x.re());
        if T::COMPLEX { sum.add_product::<FUSED>(x.im(), x.im()) } else { sum }
    }))
}

#[inline(always)]
fn amax_body<T: Scalar, const FUSED: bool>(x: &[T]) -> T::Real {
    let greater = |most: T::Real, size: T::Real| if size > most { size } else { most };
    reduce_lanes(x, -T::Real::ONE, |most, x: T| greater(most, x.abs1())).into_iter().fold(-T::Real::ONE, greater)
}
