//! Types of values that ranks can share.
use bytemuck::Pod;
use foregather_dsm::memory::local::InCells;

/// Types that ranks can share: numbers, and arrays of numbers.
///
/// Every bit pattern must be a valid value, so that a read during another rank's write still returns a valid
/// value: the old one, the new one or, for an array, a mixture of elements of both. References and types with
/// padding are not allowed, and neither are `bool` and `char`, because some bit patterns are invalid: share a
/// `u8` or a `u32` instead. The trait is implemented for integers of up to 64 bits, for `f32` and `f64`, and
/// for arrays of these.
///
/// ```
/// use foregather::{Array, SharedElement};
///
/// fn largest<T: SharedElement + PartialOrd>(all: &Array<T>) -> T {
///     (1..all.len()).map(|at| all.get(at)).fold(all.get(0), |most, it| if it > most { it } else { most })
/// }
///
/// let largest = foregather::shared(2, |me| {
///     let all = me.array::<f32>(100)?;
///     for at in me.share(all.len()) {
///         all.set(at, at as f32);
///     }
///     me.barrier()?;
///     Ok(largest(&all))
/// })?;
/// assert_eq!(largest, [99.0, 99.0]);
/// # Ok::<(), foregather::Error>(())
/// ```
pub trait SharedElement: Pod + Send + Sync + InCells {}

macro_rules! numbers {
    ($($number:ident),*) => {$(
        impl SharedElement for $number {}
    )*};
}
numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

impl<T: SharedElement, const N: usize> SharedElement for [T; N] {}
