//! Kinds of values that ranks can share.
use bytemuck::Pod;
use foregather_dsm::memory::local::InCells;

/// Numbers, and arrays of them: what can be shared.
///
/// Every pattern of bits is a value, so a read during another rank's write gives a value, too: old, new, or,
/// if it is an array, some elements of each. References and types with padding are not plain; nor are `bool`
/// and `char`, since not every pattern is a value: share a `u8` or `u32`. The trait is implemented for all
/// types that it can be implemented for.
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
