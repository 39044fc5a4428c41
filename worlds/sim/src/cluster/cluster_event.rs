//! Messages under way between nodes, and events of nodes.
use super::wires::Flight;
use foregather_machine::Rank;
use std::rc::Rc;

/// The content of a message. Lanes are known by their numbers in the whole cluster.
#[derive(Clone)]
pub(super) enum Payload {
    /// A frame of the fabric.
    Frame(Frame),
    /// A lane wants to read the memory exposed under `key`; `ticket` is the reader's.
    Request { key: u64, ticket: u64, pieces: u32 },
    /// A part of a reader's bytes, but not the last.
    Part,
    /// The last part. (All bytes come with it: no code looks at them before.)
    Data { ticket: u64, bytes: Rc<[u8]> },
    /// There is nothing to read under that key.
    Refusal { ticket: u64 },
    /// A message of a program that drives the NIC by itself; `last` if it is the message's last descriptor.
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
    /// Its number between these lanes, from 1 on, once it is under way.
    pub(super) number: u64,
}

/// A foreseen event.
pub(super) enum ClusterEvent {
    /// A message reaches the receiver's wire.
    Lands(Parcel),
    /// The message is in memory there.
    Arrives(Parcel),
    /// The interrupt for that lane's sleeper has been served.
    Served(u32),
    /// A node's timer fires, and a thread polls there.
    Sweep(Rank),
    /// A frame of that lane was released after another had found no room.
    Room(u32),
    /// A lane may have posted its last message.
    Leaves(u32),
    /// A node dies.
    Dies(Rank),
    /// A node stands still no longer.
    Resumes(Rank),
    /// The others learn of the death.
    Lost(Rank),
}
