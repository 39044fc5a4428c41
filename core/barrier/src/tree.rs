//! The tree barrier of Mellor-Crummey & Scott 1991: arrivals are gathered with fan-in 4, and releases spread
//! with fan-out 2.
use foregather_machine::{Endpoint, Error};

/// The number of children whose arrivals a node gathers, in slots `0..GATHER`.
const GATHER: u32 = 4;
/// The number of children that a node releases.
const RELEASE: u32 = 2;
/// The slot for the release.
const RELEASED: u32 = GATHER;
/// The number of slots per member.
pub(crate) const SLOTS: u32 = GATHER + 1;

/// Synchronises all members. Each one waits for its children in the arrival tree, signals its parent, waits
/// for its release, and releases its children in the release tree. Each member waits on its own fixed slots
/// only. Costs `2n - 2` signals in total.
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
