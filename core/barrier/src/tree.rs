//! The tree barrier of Mellor-Crummey & Scott 1991: arrivals gathered four to a node, releases spread two to
//! a node.
use foregather_machine::{Endpoint, Error};

/// Children that a node gathers, in slots `0..GATHER`.
const GATHER: u32 = 4;
/// Children that a node releases.
const RELEASE: u32 = 2;
/// The slot for the release.
const RELEASED: u32 = GATHER;
/// Slots per member.
pub(crate) const SLOTS: u32 = GATHER + 1;

/// Waits for the children, signals the parent, waits for the release, and releases the children of the other
/// tree. Each member has fixed slots, so each member spins on local slots only. Costs `2n - 2` signals in
/// all.
///
/// # Errors
/// The endpoint's errors.
#[inline]
pub async fn tree<E: Endpoint>(endpoint: &E) -> Result<(), Error> {
    let (rank, size) = (endpoint.rank(), endpoint.size());
    let mut child = 0;
    while child < GATHER && GATHER * rank + 1 + child < size {
        endpoint.wait(child).await?;
        child += 1;
    }
    if rank > 0 {
        endpoint.signal((rank - 1) / GATHER, (rank - 1) % GATHER).await?;
        endpoint.wait(RELEASED).await?;
    }
    child = 0;
    while child < RELEASE && RELEASE * rank + 1 + child < size {
        endpoint.signal(RELEASE * rank + 1 + child, RELEASED).await?;
        child += 1;
    }
    Ok(())
}
