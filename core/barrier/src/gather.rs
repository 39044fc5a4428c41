//! Gather and release along one tree: the binomial tree of the tournament and of RDS, and its k-nomial
//! relatives.
//!
//! If ranks are written in base `k`, the parent of a member is its rank with the lowest nonzero digit
//! replaced by 0. So member 0 is the root, any number of members forms a tree, and the depth of the tree is
//! the number of digits of the highest rank.
use foregather_machine::{Cause, Endpoint, Error, Rank};

/// Returns the number of slots per member: `k - 1` (one per nonzero digit) for each digit position of
/// `size - 1`.
pub(crate) fn slots(size: u32, k: u32) -> u32 {
    children(0, size, Any(k))
}

/// The base of a tree. If the compiler knows that it is 2, digits are bits and no division remains.
trait Base: Copy {
    fn k(self) -> u32;
}

/// Base 2: the binomial tree.
#[derive(Clone, Copy)]
struct Two;

/// Any base of at least 2.
#[derive(Clone, Copy)]
struct Any(u32);

impl Base for Two {
    #[inline(always)]
    fn k(self) -> u32 {
        2
    }
}

impl Base for Any {
    #[inline(always)]
    fn k(self) -> u32 {
        self.0
    }
}

/// Waits for the children, the smallest subtree first, signals the parent, waits for its release, and
/// releases the children, the largest subtree first. `n` members send `2n - 2` signals in total, for any `n`.
/// The link to the child with digit `v` at position `p` uses slot `p (k-1) + v - 1` at both ends.
///
/// # Errors
/// [`Cause::Size`] if `k` is below 2; otherwise the endpoint's errors.
#[inline]
pub async fn gather_release<E: Endpoint>(endpoint: &E, k: u32) -> Result<(), Error> {
    if k < 2 {
        let needs = "k of at least 2, the base of its tree";
        return Err(Error::from(Cause::Size { what: "gather", size: endpoint.size(), needs }));
    }
    up_and_down(endpoint, Any(k)).await
}

/// Gathers up the tree and releases down the tree.
#[inline]
async fn up_and_down<E: Endpoint>(endpoint: &E, k: impl Base) -> Result<(), Error> {
    let (mut slot, end) = (0, children(endpoint.rank(), endpoint.size(), k));
    while slot < end {
        if child(endpoint, slot, k).is_some() {
            endpoint.wait(slot).await?;
        }
        slot += 1;
    }
    if endpoint.rank() > 0 {
        let (parent, own) = parent(endpoint.rank(), end, k);
        endpoint.signal(parent, own).await?;
        endpoint.wait(own).await?;
    }
    while slot > 0 {
        slot -= 1;
        if let Some(child) = child(endpoint, slot, k) {
            endpoint.signal(child, slot).await?;
        }
    }
    Ok(())
}

/// The tournament barrier (Hensgen, Finkel & Manber 1988): in round `r`, members that are `2^r` apart
/// synchronise in pairs, and the lower one always wins. The last winner, member 0, starts the release; each
/// member releases the members that it has beaten, which are its children in the binomial tree.
///
/// # Errors
/// The endpoint's errors.
#[inline]
pub fn tournament<E: Endpoint>(endpoint: &E) -> impl Future<Output = Result<(), Error>> {
    up_and_down(endpoint, Two)
}

/// Returns the end of the slots that lead to a member's children. These slots belong to the digit positions
/// below its lowest nonzero digit; for the root, to all positions.
#[inline]
fn children(rank: Rank, size: u32, k: impl Base) -> u32 {
    let k = k.k();
    let (mut slots, mut stride, mut rest) = (0, 1, rank);
    while stride < u64::from(size) && rest.is_multiple_of(k) {
        (slots, stride, rest) = (slots + k - 1, stride * u64::from(k), rest / k);
    }
    slots
}

/// Returns `k` to the power of the digit position of `slot`: the distance between the two ranks per unit of
/// the digit.
#[inline]
fn stride(slot: u32, k: impl Base) -> u64 {
    u64::from(k.k()).pow(slot / (k.k() - 1))
}

/// Returns the child at this slot, if the group has such a member.
#[inline]
fn child(endpoint: &impl Endpoint, slot: u32, k: impl Base) -> Option<Rank> {
    let digit = u64::from(slot % (k.k() - 1) + 1);
    let child = u64::from(endpoint.rank()) + digit * stride(slot, k);
    (child < u64::from(endpoint.size())).then_some(child as Rank)
}

/// Returns the parent of a member whose children's slots end at `end`, and the slot of the link to the
/// parent.
#[inline]
fn parent(rank: Rank, end: u32, k: impl Base) -> (Rank, u32) {
    let stride = stride(end, k) as u32;
    let digit = rank / stride % k.k();
    (rank - digit * stride, end + digit - 1)
}
