//! Combines the values of all members, for every member.
use super::reduction::Reduction;
use super::{Element, Tag};
use foregather_machine::{Error, Port};

/// Combines the values of all members, place by place, and leaves the result in `values` everywhere: bit for
/// bit the same, in rank order (so `combine` need not be commutative, only associative as far as the caller
/// cares), whatever the length.
///
/// Short: recursive doubling, `log2 n c(m)`. Long: recursive halving and back,
/// `2 log2 n c(0) + 2 (n - 1)/n mG`. At most two further messages of `m` bytes unless `n` is a power of two.
///
/// # Errors
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member gives another number of values; the
/// port's errors.
pub async fn allreduce<P: Port, T: Element>(port: &P, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<(), Error> {
    let mut work = Reduction::new(port, Tag::Allreduce, values, combine);
    if let Some(actor) = work.fold().await? {
        return work.replace_all(actor).await;
    }
    if work.is_long() {
        let windows = work.halve().await?;
        for (dimension, window) in work.cube.dimensions().zip(windows).rev() {
            work.widen(dimension, window, true).await?;
        }
    } else {
        for dimension in work.cube.dimensions() {
            work.combine(dimension, Some(work.window())).await?;
        }
    }
    match work.cube.represents() {
        Some(other) => work.give_all(other).await,
        None => Ok(()),
    }
}
