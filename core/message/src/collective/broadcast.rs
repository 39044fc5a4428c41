//! One member's bytes for all members.
use super::all_gather::around;
use super::{Tag, TaggedPort, known};
use crate::tree::TreePosition;
use core::ops::Range;
use foregather_machine::{Error, Port, Rank};

/// From this many bytes on, a broadcast deals out parts and sends them round a ring.
pub const BROADCAST_LONG: usize = 12 << 10;
/// Below this many members the ring gains nothing.
const MANY: u32 = 8;

/// Brings the bytes of `root` to all members, into `bytes` everywhere.
///
/// Short: a binomial tree, `log2 n c(m)` if sending takes no longer than arriving. Long: parts down the tree,
/// and then round a ring, `(log2 n + n - 1) c(0) + 2 (n - 1)/n mG`.
///
/// # Errors
/// [`Cause::Rank`](foregather_machine::Cause::Rank) if there is no such root,
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member expects another length; the port's
/// errors.
pub async fn broadcast<P: Port>(port: &P, root: Rank, bytes: &mut [u8]) -> Result<(), Error> {
    known(port, root)?;
    let link = TaggedPort::new(port, Tag::Broadcast);
    let place = TreePosition::rooted(port, root);
    if port.size() >= MANY && bytes.len() >= BROADCAST_LONG {
        deal(&link, place, bytes).await?;
        let total = bytes.len();
        return around(&link, place.relative(), bytes, |block| part(block..block + 1, total, port.size())).await;
    }
    if let Some(parent) = place.parent() {
        link.take(parent, bytes).await?;
    }
    for (child, _) in place.children() {
        link.give(child, bytes).await?;
    }
    Ok(())
}

/// Each member gets the parts of its own subtree and hands them down: in the end each has its own part.
async fn deal<P: Port>(link: &TaggedPort<'_, P>, place: TreePosition, bytes: &mut [u8]) -> Result<(), Error> {
    let (total, size) = (bytes.len(), link.size());
    if let Some(parent) = place.parent() {
        link.take(parent, &mut bytes[part(place.subtree(), total, size)]).await?;
    }
    for (child, dimension) in place.children() {
        link.give(child, &bytes[part(place.subtree_of_child(dimension), total, size)]).await?;
    }
    Ok(())
}

/// The bytes of these parts, of `size` nearly equal ones.
fn part(range: Range<u32>, total: usize, size: u32) -> Range<usize> {
    let at = |place: u32| (total as u128 * u128::from(place) / u128::from(size)) as usize;
    at(range.start)..at(range.end)
}
