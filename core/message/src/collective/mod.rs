//! What all members of a group do together with sized messages: every member calls the same functions in the
//! same order.
//!
//! - [`broadcast`], [`gather`], [`all_gather`], [`all_to_all`], [`shift`]: bytes from one to all, from all to
//!   one, from all to all, onwards.
//! - [`reduce`], [`allreduce`]: values of an [`Element`] combined by [`sum`], [`minimum`], [`maximum`] or any
//!   function.
//!
//! They work for any number of members, and take the algorithm that suits the length: few messages for short
//! payloads, few bytes for long ones, from the `_LONG` constants on (those of MPICH; Thakur, Rabenseifner &
//! Gropp 2005). The result never depends on which members were early. The costs in their docs are those of
//! LogGP when all begin together: `c(m) = o + L + mG + o` is one message of `m` bytes that goes by the short
//! protocol, and the round trip of a PROBE comes on top where it goes by the long one.
//!
//! Their messages have the tags of [`TAGS`], which nothing else may use. A member that gives another length
//! than the rest gets or causes [`Cause::Mismatch`]. A member that gets an error must leave the group, since
//! the others may wait for it.

mod all_gather;
mod all_to_all;
mod allreduce;
mod broadcast;
mod cube;
mod element;
mod gather;
mod reduce;
mod reduction;
mod shift;

pub use all_gather::{ALL_GATHER_LONG, all_gather};
pub use all_to_all::{ALL_TO_ALL_LONG, all_to_all};
pub use allreduce::{allreduce, combine_all};
pub use broadcast::{BROADCAST_LONG, broadcast};
pub use element::{Element, maximum, minimum, sum};
pub use gather::gather;
pub use reduce::reduce;
pub use reduction::REDUCE_LONG;
pub use shift::shift;

use crate::{Protocol, receive, send, send_and_receive};
use core::ops::Range;
use foregather_machine::{Cause, Error, Port, Rank};

/// The tags of collective messages.
pub const TAGS: Range<u32> = 0xc011_0000..0xc011_0100;

/// Which operation a message belongs to: its tag.
#[derive(Clone, Copy)]
enum Tag {
    Broadcast,
    Reduce,
    Allreduce,
    Gather,
    AllGather,
    AllToAll,
    Shift,
}

/// A member's end, for one operation.
struct TaggedPort<'p, P> {
    port: &'p P,
    tag: u32,
}

impl<'p, P: Port> TaggedPort<'p, P> {
    fn new(port: &'p P, tag: Tag) -> Self {
        Self { port, tag: TAGS.start + tag as u32 }
    }

    fn rank(&self) -> Rank {
        self.port.rank()
    }

    fn size(&self) -> u32 {
        self.port.size()
    }

    /// The member `distance` places further on, round the end.
    fn after(&self, distance: u32) -> Rank {
        ((u64::from(self.rank()) + u64::from(distance)) % u64::from(self.size())) as Rank
    }

    /// The member `distance` places back.
    fn before(&self, distance: u32) -> Rank {
        self.after(self.size() - distance % self.size())
    }

    async fn give(&self, to: Rank, bytes: &[u8]) -> Result<(), Error> {
        send(self.port, to, self.tag, bytes, Protocol::of_length(self.port, bytes.len())).await
    }

    /// Takes a message that is as long as `into`.
    async fn take(&self, from: Rank, into: &mut [u8]) -> Result<(), Error> {
        let expected = into.len();
        whole(from, expected, receive(self.port, from, self.tag, into).await)
    }

    /// Sends and takes a message at the same time.
    async fn give_and_take(&self, (to, bytes): (Rank, &[u8]), (from, into): (Rank, &mut [u8])) -> Result<(), Error> {
        let (expected, protocol) = (into.len(), Protocol::of_length(self.port, bytes.len()));
        whole(from, expected, send_and_receive(self.port, (to, bytes), (from, into), self.tag, protocol).await)
    }
}

/// Checks that the received message has the expected length.
fn whole(from: Rank, expected: usize, came: Result<usize, Error>) -> Result<(), Error> {
    let came = match came {
        Ok(came) => came,
        Err(error) => match *error.cause() {
            Cause::Length { bytes, room, .. } if room == expected => bytes,
            _ => return Err(error),
        },
    };
    if came == expected {
        return Ok(());
    }
    let (packed, unpacked) = (format!("{came} bytes"), format!("{expected} bytes"));
    Err(Cause::Mismatch { from, piece: 0, packed, unpacked }.into())
}

/// Checks that there is a member with this rank.
fn known<P: Port>(port: &P, rank: Rank) -> Result<(), Error> {
    if rank < port.size() { Ok(()) } else { Err(Cause::Rank { rank, size: port.size() }.into()) }
}

/// The front part of `into`, which takes `count` blocks of `block` bytes.
fn room_for(into: &mut [u8], count: u32, block: usize) -> Result<&mut [u8], Error> {
    let (bytes, room) = (block.saturating_mul(count as usize), into.len());
    into.get_mut(..bytes).ok_or_else(|| Cause::Length { what: "what all members give", bytes, room }.into())
}

/// The bytes of the blocks of those numbers, each of `block` bytes.
fn blocks(range: Range<u32>, block: usize) -> Range<usize> {
    range.start as usize * block..range.end as usize * block
}
