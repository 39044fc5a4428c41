//! Plane rotations, Givens' and modified, made and applied.
use crate::error::{Error, same};
use crate::kernels::level1 as kernels;
use crate::kernels::vector::VectorMut;
use crate::scalar::{Real, Scalar};

/// Makes the rotation `[c s; -conj(s) c]` that turns `(a, b)` into `(r, 0)`; returns `c` and `s`.
///
/// `a` becomes `r`. For real numbers `b` becomes `z`, which encodes the rotation: `s` if `|a| > |b|`, else
/// `1 / c`, or 1 if `c` is nought. Scaled, so that neither huge nor tiny numbers harm.
pub fn rotg<T: Scalar>(a: &mut T, b: &mut T) -> (T::Real, T) {
    if T::COMPLEX {
        return complex_rotg(a, *b);
    }
    let (zero, one) = (T::Real::ZERO, T::Real::ONE);
    let (x, y) = (a.re(), b.re());
    let (larger, smaller) = if x.abs() > y.abs() { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    if smaller == zero && y == zero {
        *b = T::ZERO;
        return (one, T::ZERO);
    }
    if x == zero {
        (*a, *b) = (*b, T::ONE);
        return (zero, T::ONE);
    }
    let unit = if larger.is_finite() { larger.binade() } else { one };
    let (p, q) = (x / unit, y / unit);
    let sign = if x.abs() > y.abs() { x } else { y };
    let r = (unit * (p * p + q * q).sqrt()).copysign(sign);
    let (c, s) = (x / r, y / r);
    let z = if x.abs() > y.abs() {
        s
    } else if c == zero {
        one
    } else {
        one / c
    };
    (*a, *b) = (T::real(r), T::real(z));
    (c, T::real(s))
}

/// The size of a complex number, safe against overflow.
fn size<T: Scalar>(value: T) -> T::Real {
    let (re, im) = (value.re().abs(), value.im().abs());
    let larger = if re > im { re } else { im };
    if larger == T::Real::ZERO || !larger.is_finite() {
        return re + im;
    }
    let unit = larger.binade();
    unit * ((re / unit) * (re / unit) + (im / unit) * (im / unit)).sqrt()
}

/// A number as its size, in a unit that is a power of two, and its direction: so the smallest numbers do not
/// round.
fn polar<T: Scalar>(value: T) -> (T::Real, T::Real, T) {
    let (re, im) = (value.re().abs(), value.im().abs());
    let larger = if re > im { re } else { im };
    let unit = if larger > T::Real::ZERO && larger.is_finite() { larger.binade() } else { T::Real::ONE };
    let scaled = T::new(value.re() / unit, value.im() / unit);
    let length = size(scaled);
    (unit, length, T::new(scaled.re() / length, scaled.im() / length))
}

fn complex_rotg<T: Scalar>(a: &mut T, b: T) -> (T::Real, T) {
    let (zero, one) = (T::Real::ZERO, T::Real::ONE);
    let (f, g) = (size(*a), size(b));
    if g == zero {
        return (one, T::ZERO);
    }
    let (unit_b, of_b, direction_b) = polar(b);
    if f == zero {
        *a = T::real(g);
        return (zero, direction_b.conj());
    }
    let (unit_a, of_a, direction_a) = polar(*a);
    let unit = if unit_a > unit_b { unit_a } else { unit_b };
    let (p, q) = (of_a * (unit_a / unit), of_b * (unit_b / unit));
    let norm = size(T::new(p, q));
    *a = direction_a.scale(norm * unit);
    (p / norm, direction_a * direction_b.conj().scale(q / norm))
}

/// Makes the modified rotation that turns `(sqrt(d1) * x1, sqrt(d2) * y1)` into a vector whose second part is
/// nought.
///
/// Returns the flag and `h11, h21, h12, h22`. The flag says which of these count: -1 all, 0 the two off the
/// diagonal (the others are 1), 1 the diagonal (the others are -1 and 1), -2 none (the identity). `d1`, `d2`,
/// `x1` are updated.
pub fn rotmg<R: Real>(d1: &mut R, d2: &mut R, x1: &mut R, y1: R) -> [R; 5] {
    let (zero, one) = (R::ZERO, R::ONE);
    if *d1 < zero {
        (*d1, *d2, *x1) = (zero, zero, zero);
        return [-one, zero, zero, zero, zero];
    }
    let p2 = *d2 * y1;
    if p2 == zero {
        return [-(one + one), zero, zero, zero, zero];
    }
    let p1 = *d1 * *x1;
    let (q2, q1) = (p2 * y1, p1 * *x1);
    let mut h = [zero; 4];
    let mut flag;
    if q1.abs() > q2.abs() {
        (h[1], h[2]) = (-y1 / *x1, p2 / p1);
        let u = one - h[2] * h[1];
        if u <= zero {
            // Only rounding can lead here.
            (*d1, *d2, *x1) = (zero, zero, zero);
            return [-one, zero, zero, zero, zero];
        }
        flag = zero;
        (*d1, *d2, *x1) = (*d1 / u, *d2 / u, *x1 * u);
    } else {
        if q2 < zero {
            (*d1, *d2, *x1) = (zero, zero, zero);
            return [-one, zero, zero, zero, zero];
        }
        flag = one;
        (h[0], h[3]) = (p1 / p2, *x1 / y1);
        let u = one + h[0] * h[3];
        (*d1, *d2) = (*d2 / u, *d1 / u);
        *x1 = y1 * u;
    }
    rescale(d1, &mut flag, &mut h, Some(x1), 0);
    rescale(d2, &mut flag, &mut h, None, 1);
    let [h11, h21, h12, h22] = h;
    let kept = |wanted: bool, value: R| if wanted { value } else { zero };
    let (all, off) = (flag < zero, flag == zero);
    [flag, kept(all || !off, h11), kept(all || off, h21), kept(all || off, h12), kept(all || !off, h22)]
}

/// Keeps a factor between `4096^-2` and `4096^2` by scaling a row of the matrix, whose elements all count
/// from then on.
fn rescale<R: Real>(d: &mut R, flag: &mut R, h: &mut [R; 4], mut x1: Option<&mut R>, row: usize) {
    let (gamma, one) = (R::from_f64(4096.0), R::ONE);
    let square = gamma * gamma;
    while *d != R::ZERO && d.is_finite() && (d.abs() <= one / square || d.abs() >= square) {
        if *flag == R::ZERO {
            (h[0], h[3]) = (one, one);
        } else if *flag > R::ZERO {
            (h[1], h[2]) = (-one, one);
        }
        *flag = -one;
        let small = d.abs() <= one / square;
        let (of_d, of_row) = if small { (square, one / gamma) } else { (one / square, gamma) };
        *d *= of_d;
        if let Some(x1) = &mut x1 {
            **x1 *= of_row;
        }
        h[row] *= of_row;
        h[row + 2] *= of_row;
    }
}

/// Turns every pair `(x, y)` into `(c * x + s * y, c * y - s * x)`.
///
/// # Errors
/// If the lengths differ.
pub fn rot<T: Scalar>(mut x: VectorMut<'_, T>, mut y: VectorMut<'_, T>, c: T::Real, s: T::Real) -> Result<(), Error> {
    same("rot", 4, "y", y.len(), x.len())?;
    if let (Some(x), Some(y)) = (x.reborrow().into_slice(), y.reborrow().into_slice()) {
        kernels::rot(c, s, x, y);
        return Ok(());
    }
    for at in 0..x.len() {
        let (p, q) = (x.get(at), y.get(at));
        x.set(at, p.scale(c) + q.scale(s));
        y.set(at, q.scale(c) - p.scale(s));
    }
    Ok(())
}

/// Applies a modified rotation, as [`rotmg`] returns it.
///
/// # Errors
/// If the lengths differ.
pub fn rotm<R: Real>(mut x: VectorMut<'_, R>, mut y: VectorMut<'_, R>, param: &[R; 5]) -> Result<(), Error> {
    same("rotm", 4, "y", y.len(), x.len())?;
    let [flag, h11, h21, h12, h22] = *param;
    let (zero, one) = (R::ZERO, R::ONE);
    if flag == -(one + one) {
        return Ok(());
    }
    let [h11, h21, h12, h22] = if flag < zero {
        [h11, h21, h12, h22]
    } else if flag == zero {
        [one, h21, h12, one]
    } else {
        [h11, -one, one, h22]
    };
    for at in 0..x.len() {
        let (p, q) = (x.get(at), y.get(at));
        x.set(at, p * h11 + q * h12);
        y.set(at, p * h21 + q * h22);
    }
    Ok(())
}
