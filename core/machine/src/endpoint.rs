//! Members of a group and their null messages.
use crate::{Clock, Error};

/// A member's number within its group: `0..size`.
pub type Rank = u32;

/// One rank of a group.
pub trait Member: Clock {
    /// This member's own number, below [`Member::size`].
    fn rank(&self) -> Rank;
    /// How many members the group has.
    fn size(&self) -> u32;
}

/// Null messages: all that a barrier needs (Seidel & Davis 1992 §2). Native on flags and in simulated
/// networks.
///
/// A slot is a counter at the receiver: signals to it add up, each completed wait takes one. For each slot of
/// a member at most one peer signals at a time.
pub trait Endpoint: Member {
    /// Sends a null message to `slot` of `peer`; done when the sender may go on. It acts when called: await
    /// it.
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error>;
    /// Waits for the next null message in `slot` and takes it. A future dropped unfinished poisons the group.
    async fn wait(&self, slot: u32) -> Result<(), Error>;
    /// [`Endpoint::wait`] for a caller that knows which peer signals the slot: an endpoint that can tell
    /// names the peer once no more signals will come from it.
    fn wait_from(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        let _ = peer;
        self.wait(slot)
    }
}
