//! The four kinds of numbers, behind one trait, so that every routine is written once.
use crate::kernels::MachineScalar;
use num_complex::Complex;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A complex number of two `f32`, real part first.
#[allow(non_camel_case_types)]
pub type c32 = Complex<f32>;
/// A complex number of two `f64`, real part first.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f64>;

/// The numbers of vectors and matrices: `f32`, `f64`, [`c32`], [`c64`].
pub trait Scalar:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + MachineScalar
{
    /// The real numbers of the same precision.
    type Real: Real;
    /// Nought.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Whether there is an imaginary part.
    const COMPLEX: bool;

    /// The number with a real part and an imaginary one; real numbers ignore the latter.
    fn new(re: Self::Real, im: Self::Real) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part, nought for real numbers.
    fn im(self) -> Self::Real;
    /// The conjugate; real numbers are their own.
    #[must_use]
    fn conj(self) -> Self;
    /// Each part times a real number.
    #[must_use]
    fn scale(self, by: Self::Real) -> Self;
    /// `a * b + self`; fused if `FUSED`, which only code compiled for a processor with that instruction may
    /// ask for.
    #[must_use]
    fn add_product<const FUSED: bool>(self, a: Self, b: Self) -> Self;

    /// `self / by`, safe where squares of the divisor would overflow or vanish; complex `/` computes such
    /// squares.
    #[must_use]
    fn over(self, by: Self) -> Self;

    /// `|re| + |im|`, the size that `asum` and `iamax` use.
    #[inline(always)]
    fn abs1(self) -> Self::Real {
        self.re().abs() + self.im().abs()
    }
    /// The conjugate if asked for.
    #[inline(always)]
    #[must_use]
    fn conj_if(self, conj: bool) -> Self {
        if conj { self.conj() } else { self }
    }
    /// The number with an imaginary part of nought.
    #[inline(always)]
    fn real(re: Self::Real) -> Self {
        Self::new(re, Self::Real::ZERO)
    }
}

/// A real number: `f32` or `f64`.
pub trait Real: Scalar<Real = Self> + PartialOrd + Sum {
    /// The distance from one to the next number.
    const EPSILON: Self;
    /// The least number that has full precision.
    const MIN_POSITIVE: Self;
    /// The greatest finite number.
    const MAX: Self;
    /// Its absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// Its square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// The greatest power of two that is no greater in size; for finite numbers other than nought.
    #[must_use]
    fn binade(self) -> Self;
    /// Its size with the sign of another.
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// Whether it is neither infinite nor not a number.
    fn is_finite(self) -> bool;
    /// Whether it is not a number.
    fn is_nan(self) -> bool;
    /// From a small constant.
    fn from_f64(value: f64) -> Self;
}

macro_rules! real {
    ($t:ident, $bits:ident) => {
        impl Scalar for $t {
            type Real = $t;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const COMPLEX: bool = false;
            #[inline(always)]
            fn new(re: $t, _: $t) -> Self {
                re
            }
            #[inline(always)]
            fn re(self) -> $t {
                self
            }
            #[inline(always)]
            fn im(self) -> $t {
                0.0
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            #[inline(always)]
            fn scale(self, by: $t) -> Self {
                self * by
            }
            #[inline(always)]
            fn add_product<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                if FUSED { a.mul_add(b, self) } else { a * b + self }
            }
            #[inline(always)]
            fn over(self, by: Self) -> Self {
                self / by
            }
            #[inline(always)]
            fn abs1(self) -> $t {
                self.abs()
            }
        }
        impl Real for $t {
            const EPSILON: Self = $t::EPSILON;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const MAX: Self = $t::MAX;
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn binade(self) -> Self {
                const MANTISSA: $bits = (1 << ($t::MANTISSA_DIGITS - 1)) - 1;
                // Subnormal numbers have no exponent of their own: all of them count as the least normal one.
                let size = if self.abs() < $t::MIN_POSITIVE { $t::MIN_POSITIVE } else { self.abs() };
                $t::from_bits(size.to_bits() & !MANTISSA)
            }
            fn copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn from_f64(value: f64) -> Self {
                value as $t
            }
        }
        impl Scalar for Complex<$t> {
            type Real = $t;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            const COMPLEX: bool = true;
            #[inline(always)]
            fn new(re: $t, im: $t) -> Self {
                Complex::new(re, im)
            }
            #[inline(always)]
            fn re(self) -> $t {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $t {
                self.im
            }
            #[inline(always)]
            fn conj(self) -> Self {
                Complex::new(self.re, -self.im)
            }
            #[inline(always)]
            fn scale(self, by: $t) -> Self {
                Complex::new(self.re * by, self.im * by)
            }
            #[inline(always)]
            fn add_product<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                if FUSED {
                    let re = (-a.im).mul_add(b.im, a.re.mul_add(b.re, self.re));
                    Complex::new(re, a.im.mul_add(b.re, a.re.mul_add(b.im, self.im)))
                } else {
                    Complex::new(a.re * b.re - a.im * b.im + self.re, a.re * b.im + a.im * b.re + self.im)
                }
            }
            fn over(self, by: Self) -> Self {
                // Powers of two bring both to about one, which is exact.
                let size = |of: Self| if of.re.abs() > of.im.abs() { of.re } else { of.im }.binade();
                let (own, unit) = (size(self), size(by));
                if !own.is_finite() || !unit.is_finite() {
                    // By the quotient of the divisor's parts, so that a finite number over an infinite one is
                    // nought.
                    let turn = |value: Self| Complex::new(value.im, -value.re);
                    let (top, by) = if by.re.abs() >= by.im.abs() { (self, by) } else { (turn(self), turn(by)) };
                    let ratio = by.im / by.re;
                    let divisor = by.re + by.im * ratio;
                    return Complex::new((top.re + top.im * ratio) / divisor, (top.im - top.re * ratio) / divisor);
                }
                (self.scale(own.recip()) / by.scale(unit.recip())).scale(own / unit)
            }
        }
    };
}
real!(f32, u32);
real!(f64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_of_any_size_can_be_divided() {
        for exponent in [-1074, -1050, -1022, -600, -540, -1, 0, 1, 511, 512, 1000, 1022] {
            let value =
                Complex::new(1.0, 0.5).scale(2.0_f64.powi(exponent.max(-1022))).scale(2.0_f64.powi((exponent + 1022).min(0)));
            assert_eq!(value.over(value), Complex::ONE, "2^{exponent}");
        }
        for exponent in [-149, -126, -80, -70, 63, 70, 126] {
            let value = Complex::new(0.0, 2.0_f32.powi(exponent.max(-126))).scale(2.0_f32.powi((exponent + 126).min(0)));
            assert_eq!(value.over(value), Complex::ONE, "2^{exponent}");
        }
        let (huge, tiny) = (Complex::new(1e300, -1e300), Complex::new(1e-300, 1e-300));
        assert_eq!(huge.over(huge.scale(0.5)), Complex::new(2.0, 0.0));
        assert_eq!(tiny.over(huge), Complex::ZERO);
        assert!(!huge.over(tiny).im.is_finite());
    }

    #[test]
    fn a_finite_number_over_an_infinite_one_is_zero() {
        for infinite in
            [Complex::new(f64::INFINITY, 3.0), Complex::new(-2.0, f64::NEG_INFINITY), Complex::new(0.0, f64::INFINITY)]
        {
            for value in [Complex::new(1.0, 2.0), Complex::new(0.0, -1e300), Complex::ZERO] {
                assert_eq!(value.over(infinite), Complex::ZERO, "{value} / {infinite}");
            }
        }
        let quotient = Complex::new(f64::INFINITY, 1.0).over(Complex::new(0.0, 2.0));
        assert_eq!(quotient.im, f64::NEG_INFINITY);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let nan = Complex::new(f64::NAN, 0.0);
        for (a, b) in [(nan, Complex::ONE), (Complex::ONE, nan), (Complex::ONE, Complex::ZERO), (Complex::ZERO, Complex::ZERO)] {
            let quotient = a.over(b);
            assert!(!quotient.re.is_finite() || !quotient.im.is_finite(), "{a} / {b} = {quotient}");
        }
        assert_eq!(Complex::<f64>::ZERO.over(Complex::ONE), Complex::ZERO);
    }
}
