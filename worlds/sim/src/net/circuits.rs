//! The costs and the rules of circuits: the iPSC/860 of Seidel & Davis 1992 §2, with the knobs that the text
//! leaves open.
use foregather_machine::{Cause, Error, Nanos};

foregather_machine::named! {
    /// Which of the circuits that wait for a receive port goes first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Arbitration {
        /// The circuit of the lowest dimension: the published costs follow from it.
        LowestDimension = "lowest-dimension",
        /// The circuit that has waited longest.
        Fifo = "fifo",
        /// Any circuit, by the seed.
        Random = "random",
    }
}

/// Header buffers (§2.4; the text gives no numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderBuffers {
    /// Buffers that each node holds for each other one.
    pub buffers: u16,
    /// How many of them a release message gives back.
    pub release: u16,
}

/// A network of circuits: a message holds its sender's send port and its receiver's receive port while it
/// passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuits {
    /// `b_s`: from the start of a null message until the receiver has it.
    pub null: Nanos,
    /// `s`: from the start of a send until its sender may go on.
    pub send: Nanos,
    /// `b_l`: PROBE and REQUEST, half each.
    pub long: Nanos,
    /// `a`: one byte, in picoseconds.
    pub byte_ps: u64,
    /// The longest short message, in bytes.
    pub short_limit: u32,
    /// The part of `send` that passes before the ports are asked for.
    pub set_up: Nanos,
    /// The last part of `null`: the receiver's processor, while the port is still held.
    pub receive: Nanos,
    /// How long a null message holds the receive port, if shorter than `null`.
    pub null_hold: Option<Nanos>,
    /// Each send takes up to this much longer, evenly.
    pub jitter: Nanos,
    /// The circuit that goes first.
    pub arbitration: Arbitration,
    /// Circuits hold the links of their dimension-order route, too; for powers of two only.
    pub links: bool,
    /// The time that each link beyond the first adds.
    pub hop: Nanos,
    /// Header buffers, if they are counted.
    pub pool: Option<HeaderBuffers>,
    /// The seed of random choices.
    pub seed: u64,
}

impl Circuits {
    /// The time that `m` bytes add.
    pub const fn bytes(&self, m: u32) -> Nanos {
        Nanos((m as u128 * self.byte_ps as u128 / 1_000) as u64)
    }

    pub(super) fn check(&self, size: u32) -> Result<(), Error> {
        let setting = |what, needs| Err(Error::from(Cause::Setting { what, needs }));
        if self.send > self.null {
            return setting(
                "the send time",
                "one that is no longer than a null message takes, whose sender returns before it arrives",
            );
        }
        if self.set_up > self.send {
            return setting("the set-up time", "one that is a part of the send time");
        }
        if self.set_up + self.receive > self.null {
            return setting("set-up and receive time", "that both are parts of what a null message takes");
        }
        if self.null_hold.is_some_and(|hold| hold > self.null - self.set_up - self.receive) {
            return setting("the hold of a null message", "that it ends before the message has arrived");
        }
        if self.pool.is_some_and(|pool| pool.buffers == 0 || pool.release == 0 || pool.release > pool.buffers) {
            return setting("the pool", "at least one buffer, and releases of at least one and at most all");
        }
        if self.links && !size.is_power_of_two() {
            return Err(
                Cause::Size { what: "links of a hypercube", size, needs: "a power of two; without links any size" }.into()
            );
        }
        Ok(())
    }
}
