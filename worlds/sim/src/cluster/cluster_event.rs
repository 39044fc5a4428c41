//! What is under way between nodes, and what happens to nodes.
use super::wires::Flight;
use foregather_machine::Rank;
use std::rc::Rc;

/// What a message carries. Lanes are known by their numbers in the whole cluster.
#[derive(Clone)]
pub(super) enum Payload {
    /// A frame of the fabric.
    Frame(Frame),
    /// Somebody wants to read what is exposed under `key`; `ticket` is the reader's.
    Request { key: u64, ticket: u64, pieces: u32 },
    /// What a reader asked for, but for its last bytes.
    Part,
    /// The last of it. (The bytes of all of it come with it: nothing looks at them before.)
    Data { ticket: u64, bytes: Rc<[u8]> },
    /// There is nothing to read under that key.
    Refusal { ticket: u64 },
    /// A message of a program that drives the card by itself; is it the last descriptor of one?
    Raw { last: bool },
}

/// A frame as it is lent to its reader.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) head: u32,
    pub(super) bytes: Box<[u8]>,
}

/// A message between two lanes.
#[derive(Clone)]
pub(super) struct Parcel {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) load: Payload,
    pub(super) flight: Flight,
    /// Which one between these lanes, from 1 on, once it is under way.
    pub(super) number: u64,
}

/// What was foreseen.
pub(super) enum ClusterEvent {
    /// A message reaches the receiver's wire.
    Lands(Parcel),
    /// It is in memory there.
    Arrives(Parcel),
    /// The interrupt for that lane's sleeper has been served.
    Served(u32),
    /// A node's timer fires, and somebody polls there.
    Sweep(Rank),
    /// A frame of that lane was released after another had found no room.
    Room(u32),
    /// A lane may have posted its last message.
    Leaves(u32),
    /// A node dies.
    Dies(Rank),
    /// A node stands still no longer.
    Resumes(Rank),
    /// The others know.
    Lost(Rank),
}
