//! Kinds of values that ranks can share.
use bytemuck::{Pod, Zeroable};

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

/// A value as cells that are loaded and stored one by one: relaxed atomics, so two threads at one cell are no
/// data race.
pub trait InCells: Sized {
    /// One cell.
    type Cell: Zeroable + Send + Sync;
    /// How many cells a value takes.
    const CELLS: usize;
    /// Loads the value from its cells.
    fn load(from: &[Self::Cell]) -> Self;
    /// Stores it into its cells.
    fn store(self, to: &[Self::Cell]);
}

macro_rules! numbers {
    ($($number:ident in $cell:ident: $pack:expr, $unpack:expr;)*) => {$(
        impl SharedElement for $number {}

        impl InCells for $number {
            type Cell = core::sync::atomic::$cell;
            const CELLS: usize = 1;

            #[inline]
            fn load(from: &[Self::Cell]) -> Self {
                $unpack(from[0].load(core::sync::atomic::Ordering::Relaxed))
            }

            #[inline]
            fn store(self, to: &[Self::Cell]) {
                to[0].store($pack(self), core::sync::atomic::Ordering::Relaxed);
            }
        }
    )*};
}

use core::convert::identity;
numbers! {
    u8 in AtomicU8: identity, identity;
    u16 in AtomicU16: identity, identity;
    u32 in AtomicU32: identity, identity;
    u64 in AtomicU64: identity, identity;
    usize in AtomicUsize: identity, identity;
    i8 in AtomicI8: identity, identity;
    i16 in AtomicI16: identity, identity;
    i32 in AtomicI32: identity, identity;
    i64 in AtomicI64: identity, identity;
    isize in AtomicIsize: identity, identity;
    f32 in AtomicU32: f32::to_bits, f32::from_bits;
    f64 in AtomicU64: f64::to_bits, f64::from_bits;
}

impl<T: SharedElement, const N: usize> SharedElement for [T; N] {}

impl<T: SharedElement, const N: usize> InCells for [T; N] {
    type Cell = T::Cell;
    const CELLS: usize = N * T::CELLS;

    #[inline]
    fn load(from: &[Self::Cell]) -> Self {
        core::array::from_fn(|at| T::load(&from[at * T::CELLS..][..T::CELLS]))
    }

    #[inline]
    fn store(self, to: &[Self::Cell]) {
        for (at, value) in self.into_iter().enumerate() {
            value.store(&to[at * T::CELLS..][..T::CELLS]);
        }
    }
}
