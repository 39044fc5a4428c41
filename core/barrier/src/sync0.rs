//! The barrier `sync0` of PICL, the Portable Instrumented Communication Library, as Seidel & Davis 1992 §3.2
//! describe it.
use foregather_machine::{Cause, Endpoint, Error};

/// Synchronises all members. The upper half signals the lower half; the lower half runs a butterfly, lowest
/// dimension first, and then signals the upper half. Costs `d + 1` consecutive messages for `2^d` members;
/// members of the upper half send only one.
///
/// # Errors
/// [`Cause::Size`] unless the group's size is a power of two; otherwise the endpoint's errors.
#[inline]
pub async fn sync0<E: Endpoint>(endpoint: &E) -> Result<(), Error> {
    if !endpoint.size().is_power_of_two() {
        let needs = "a power of two; rds and dissemination take any size";
        return Err(Error::from(Cause::Size { what: "sync0", size: endpoint.size(), needs }));
    }
    let Some(top) = endpoint.size().trailing_zeros().checked_sub(1) else { return Ok(()) };
    let opposite = endpoint.rank() ^ (1 << top);
    if endpoint.rank() > opposite {
        endpoint.signal(opposite, top).await?;
        return endpoint.wait(top).await;
    }
    endpoint.wait(top).await?;
    let mut dimension = 0;
    while dimension < top {
        endpoint.signal(endpoint.rank() ^ (1 << dimension), dimension).await?;
        endpoint.wait(dimension).await?;
        dimension += 1;
    }
    endpoint.signal(opposite, top).await
}
