//! The messages between ranks.
use super::{FlagId, Hosts, LockId};
use crate::{Access, Minipage};
use foregather_machine::{Address, Rank};

/// The lane on which the server of every rank listens. Application threads have the lanes above it.
pub const SERVER: u32 = 0;

/// Returns the address of a rank's server.
pub const fn server_of(rank: Rank) -> Address {
    Address { rank, lane: SERVER }
}

/// What a thread requests for a minipage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// A read-only copy.
    Read,
    /// The exclusive copy, for writing.
    Write,
    /// A push: these ranks get a read-only copy although they did not request it.
    Push(Hosts),
    /// A free: all copies are closed, and later requests are refused.
    Free,
    /// Reuse after a free. A minipage that was never freed does not need this.
    Allocate,
}

impl Want {
    /// Returns the access that the requester has afterwards.
    pub fn access(self) -> Access {
        match self {
            Self::Read => Access::Read,
            Self::Write => Access::Write,
            Self::Push(_) | Self::Free | Self::Allocate => Access::None,
        }
    }
}

/// A message. Messages to a rank go to its server; replies go to the lane that the request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// To the manager; the reply goes to `lane` of the sending rank. [`SERVER`] means that its server takes
    /// the reply, as for a prefetch.
    Request {
        /// The minipage.
        minipage: Minipage,
        /// The request.
        want: Want,
        /// The lane that waits for the reply.
        lane: u32,
    },
    /// Manager to owner: send a copy to `by`; for writing, the only one.
    Forward {
        /// The minipage.
        minipage: Minipage,
        /// The access that `by` gets, never `None`.
        access: Access,
        /// The lane that gets the copy.
        by: Address,
    },
    /// Manager to owner: send a read-only copy to each of these ranks.
    Spread {
        /// The minipage.
        minipage: Minipage,
        /// The ranks that get a copy.
        to: Hosts,
    },
    /// Manager to a holder: close the copy.
    Invalidate {
        /// The minipage.
        minipage: Minipage,
    },
    /// Holder to manager: the copy is closed.
    Invalidated {
        /// The minipage.
        minipage: Minipage,
    },
    /// Owner to requester, followed by the minipage's bytes.
    Data {
        /// The minipage.
        minipage: Minipage,
        /// The access that it gives, never `None`.
        access: Access,
    },
    /// Manager to requester: the requester's own copy is valid.
    Grant {
        /// The minipage.
        minipage: Minipage,
        /// The access that it gives, never `None`.
        access: Access,
    },
    /// Owner to a server that did not request it, followed by the minipage's bytes, read-only.
    Pushed {
        /// The minipage.
        minipage: Minipage,
    },
    /// Requester, or receiver of a push, to manager: the copy is open. The minipage is then no longer busy.
    Installed {
        /// The minipage.
        minipage: Minipage,
    },
    /// Manager to requester: the push, free or allocation is complete.
    Done {
        /// The minipage.
        minipage: Minipage,
    },
    /// Manager to requester: the minipage has been freed.
    Refused {
        /// The minipage.
        minipage: Minipage,
        /// The requested access; `None` to push or free it.
        access: Access,
    },
    /// To the lock's manager: add `lane` to the queue; the reply goes to `lane`.
    Lock {
        /// The lock.
        lock: LockId,
        /// The lane that waits for the reply.
        lane: u32,
    },
    /// To the lock's manager: `lane` of the sending rank releases it.
    Unlock {
        /// The lock.
        lock: LockId,
        /// The lane that held it.
        lane: u32,
        /// Whether that thread panicked while holding the lock.
        panicked: bool,
    },
    /// From the lock's manager: the lock is granted.
    Granted {
        /// The lock.
        lock: LockId,
    },
    /// From the lock's manager: the thread already holds it, and would wait for itself.
    Denied {
        /// The lock.
        lock: LockId,
    },
    /// From the lock's manager: a rank panicked while holding the lock, so no thread can take it any more.
    Poisoned {
        /// The lock.
        lock: LockId,
        /// The rank that panicked.
        by: Rank,
    },
    /// To the flag's manager: one more post. There is no reply.
    Post {
        /// The flag.
        flag: FlagId,
    },
    /// To the flag's manager: add `lane` to the queue for a post; the reply goes to `lane`.
    Take {
        /// The flag.
        flag: FlagId,
        /// The lane that waits for the reply.
        lane: u32,
    },
    /// From the flag's manager: the thread has consumed a post.
    Taken {
        /// The flag.
        flag: FlagId,
    },
    /// To every server: the sending rank's threads have ended, and none of its requests is in flight.
    Detach,
}

impl Message {
    /// Returns the minipage whose bytes follow the message, if any.
    pub fn carries(&self) -> Option<Minipage> {
        match *self {
            Self::Data { minipage, .. } | Self::Pushed { minipage } => Some(minipage),
            _ => None,
        }
    }
}
