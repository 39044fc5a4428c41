//! The butterfly barrier: `gsync` of Seidel & Davis 1992 §3.1.
use foregather_machine::{Cause, Endpoint, Error};

/// Synchronises all members by exchanging a null message with the neighbour in each dimension, highest
/// dimension first. Costs `d` exchanges for `2^d` members.
///
/// # Errors
/// [`Cause::Size`] unless the group's size is a power of two; otherwise the endpoint's errors.
#[inline]
pub async fn butterfly<E: Endpoint>(endpoint: &E) -> Result<(), Error> {
    if !endpoint.size().is_power_of_two() {
        return Err(Error::from(Cause::Size {
            what: "butterfly",
            size: endpoint.size(),
            needs: "a power of two; dissemination takes any size",
        }));
    }
    let mut dimension = endpoint.size().trailing_zeros();
    while dimension > 0 {
        dimension -= 1;
        endpoint.signal(endpoint.rank() ^ (1 << dimension), dimension).await?;
        endpoint.wait(dimension).await?;
    }
    Ok(())
}
