//! The values of a reduction: numbers with one form on every wire, and the ways to combine two of them.

/// A number that can be reduced.
pub trait Element: Copy {
    /// How many bytes it takes on the wire.
    const BYTES: usize;
    /// Writes the number, little end first, into exactly [`Element::BYTES`] bytes.
    fn write(self, to: &mut [u8]);
    /// Reads what [`Element::write`] wrote.
    fn read(from: &[u8]) -> Self;
    /// The sum of two: integers wrap.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// Returns whether this element orders before `other`. Floats use the total order of IEEE 754, so the
    /// result is the same everywhere.
    fn before(self, other: Self) -> bool;
}

/// The sum of two elements, for [`allreduce`](super::allreduce) and [`reduce`](super::reduce): integers wrap.
pub fn sum<T: Element>(lower: T, upper: T) -> T {
    lower.plus(upper)
}

/// The smaller one of two elements, floats by the total order of IEEE 754.
pub fn minimum<T: Element>(lower: T, upper: T) -> T {
    if upper.before(lower) { upper } else { lower }
}

/// The greater one of two elements, floats by the total order of IEEE 754.
pub fn maximum<T: Element>(lower: T, upper: T) -> T {
    if lower.before(upper) { upper } else { lower }
}

macro_rules! elements {
    ($($number:ident $plus:ident $order:ident,)*) => {$(
        impl Element for $number {
            const BYTES: usize = size_of::<Self>();
            fn write(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn read(from: &[u8]) -> Self {
                let mut bytes = [0; Self::BYTES];
                bytes.copy_from_slice(from);
                Self::from_le_bytes(bytes)
            }
            fn plus(self, other: Self) -> Self {
                self.$plus(other)
            }
            fn before(self, other: Self) -> bool {
                self.$order(&other).is_lt()
            }
        }
    )*};
}

use core::ops::Add;
elements! {
    u32 wrapping_add cmp,
    u64 wrapping_add cmp,
    i32 wrapping_add cmp,
    i64 wrapping_add cmp,
    f32 add total_cmp,
    f64 add total_cmp,
}

/// Writes the bytes of the values one after the other, in place of the former content.
pub(super) fn write_all<T: Element>(values: &[T], to: &mut Vec<u8>) {
    to.clear();
    to.resize(values.len() * T::BYTES, 0);
    to.chunks_exact_mut(T::BYTES).zip(values).for_each(|(bytes, value)| value.write(bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_little_end_first() {
        let mut bytes = vec![9; 3];
        write_all(&[0x0102_0304_u32, 5], &mut bytes);
        assert_eq!(bytes, [4, 3, 2, 1, 5, 0, 0, 0]);
        write_all(&[-1.5_f64, f64::NAN], &mut bytes);
        assert_eq!((f64::read(&bytes[..8]), f64::read(&bytes[8..]).to_bits()), (-1.5, f64::NAN.to_bits()));
    }

    #[test]
    fn extremes_do_not_depend_on_the_order_of_the_two() {
        for (less, more) in [(-0.0, 0.0), (1.0, f64::NAN), (f64::NEG_INFINITY, -1.0)] {
            assert_eq!(minimum(less, more).to_bits(), less.to_bits());
            assert_eq!(minimum(more, less).to_bits(), less.to_bits());
            assert_eq!(maximum(less, more).to_bits(), more.to_bits());
            assert_eq!(maximum(more, less).to_bits(), more.to_bits());
        }
        assert_eq!((sum(i32::MAX, 1), sum(2_u64, 3), minimum(-3_i64, 2), maximum(7_u32, 9)), (i32::MIN, 5, -3, 9));
    }
}
