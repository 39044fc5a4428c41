//! Combines the values of all members, for one member.
use super::reduction::Reduction;
use super::{Element, Tag, known};
use foregather_machine::{Error, Port, Rank};

/// Combines the values of all members, place by place, and leaves the result in `values` at `root`: bit for
/// bit that of [`allreduce`](super::allreduce). The content of the other members' `values` is unspecified
/// afterwards.
///
/// Short: a binomial tree, `log2 n c(m)`. Long: recursive halving and a gather,
/// `2 log2 n c(0) + 2 (n - 1)/n mG`.
///
/// # Errors
/// [`Cause::Rank`](foregather_machine::Cause::Rank) if there is no such root,
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member gives another number of values; the
/// port's errors.
pub async fn reduce<P: Port, T: Element>(
    port: &P,
    root: Rank,
    values: &mut [T],
    combine: impl Fn(T, T) -> T,
) -> Result<(), Error> {
    known(port, root)?;
    let mut work = Reduction::new(port, Tag::Reduce, values, combine);
    if work.fold().await?.is_none() {
        towards(&mut work, root).await?;
    }
    // Another member may act for the root.
    let actor = work.cube.actor(work.cube.place_of(root));
    if actor == root {
        return Ok(());
    }
    match port.rank() {
        rank if rank == root => work.replace_all(actor).await,
        rank if rank == actor => work.give_all(root).await,
        _ => Ok(()),
    }
}

/// The acting members bring all values to the place of `root`. Each edge is used once, by the end that is
/// farther from it.
async fn towards<P: Port, T: Element, F: Fn(T, T) -> T>(work: &mut Reduction<'_, P, T, F>, root: Rank) -> Result<(), Error> {
    let away = work.cube.place() ^ work.cube.place_of(root);
    if work.is_long() {
        let windows = work.halve().await?;
        for (dimension, window) in work.cube.dimensions().zip(windows).rev() {
            if away >> dimension == 1 {
                return work.give_window(dimension).await;
            }
            work.widen(dimension, window, false).await?;
        }
        return Ok(());
    }
    for dimension in work.cube.dimensions() {
        if away >> dimension & 1 == 1 {
            return work.give_window(dimension).await;
        }
        work.combine(dimension, None).await?;
    }
    Ok(())
}
