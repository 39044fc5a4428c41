//! The dissemination barrier (Hensgen, Finkel & Manber 1988): the rounds of a butterfly for any size. Its
//! k-way form has fewer rounds with more signals in each, and is faster if latency costs more than sending.
use foregather_machine::{Cause, Endpoint, Error, Rank};

/// Returns the number of slots per member: `k` for each of `ceil(log_{k+1} n)` rounds.
pub(crate) fn slots(size: u32, k: u32) -> u32 {
    let (mut slots, mut stride) = (0, 1);
    while stride < u64::from(size) {
        (slots, stride) = (slots + k, stride * (u64::from(k) + 1));
    }
    slots
}

/// Synchronises all members in `ceil(log2 n)` rounds. In round `r`, a member signals the member `2^r` ranks
/// ahead and waits for the one `2^r` ranks behind, modulo the size.
///
/// # Errors
/// The endpoint's errors.
#[inline]
pub fn dissemination<E: Endpoint>(endpoint: &E) -> impl Future<Output = Result<(), Error>> {
    dissemination_by(endpoint, 1)
}

/// Synchronises all members in `ceil(log_{k+1} n)` rounds. In round `r`, a member signals the members
/// `(k+1)^r`, `2 (k+1)^r`, ..., `k (k+1)^r` ranks ahead and waits for those equally far behind, modulo the
/// size. The last round omits signals that would go around the ring.
///
/// # Errors
/// [`Cause::Size`] if `k` is 0; otherwise the endpoint's errors.
#[inline]
pub async fn dissemination_by<E: Endpoint>(endpoint: &E, k: u32) -> Result<(), Error> {
    if k == 0 {
        let needs = "k of at least 1, the number of signals in a round";
        return Err(Error::from(Cause::Size { what: "dissemination", size: endpoint.size(), needs }));
    }
    let (mut slot, mut stride) = (0, 1);
    while stride < u64::from(endpoint.size()) {
        let mut partner = 0;
        while partner < k && signals(endpoint, partner, stride) {
            endpoint.signal(around(endpoint, u64::from(partner + 1) * stride), slot + partner).await?;
            partner += 1;
        }
        partner = 0;
        while partner < k && signals(endpoint, partner, stride) {
            let back = u64::from(endpoint.size()) - u64::from(partner + 1) * stride;
            endpoint.wait_from(around(endpoint, back), slot + partner).await?;
            partner += 1;
        }
        slot += k;
        stride *= u64::from(k) + 1;
    }
    Ok(())
}

/// Returns the rank that is `distance` ranks ahead, modulo the size.
#[inline]
fn around(endpoint: &impl Endpoint, distance: u64) -> Rank {
    ((u64::from(endpoint.rank()) + distance) % u64::from(endpoint.size())) as Rank
}

/// Returns whether the signal goes less than once around the ring.
#[inline]
fn signals(endpoint: &impl Endpoint, partner: u32, stride: u64) -> bool {
    u64::from(partner + 1) * stride < u64::from(endpoint.size())
}
