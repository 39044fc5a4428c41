//! The dissemination barrier (Hensgen, Finkel & Manber 1988): the butterfly's cost for any size.
use foregather_machine::{Endpoint, Error};

/// In round `k` signals the member `2^k` places on and waits for the one `2^k` places back; `ceil(log2 n)` rounds.
///
/// # Errors
/// What the endpoint reports.
#[inline]
pub async fn dissemination<E: Endpoint>(endpoint: &E) -> Result<(), Error> {
    let mut round = 0;
    while 1 << round < endpoint.size() {
        endpoint.signal((endpoint.rank() + (1 << round)) % endpoint.size(), round).await?;
        endpoint.wait(round).await?;
        round += 1;
    }
    Ok(())
}
