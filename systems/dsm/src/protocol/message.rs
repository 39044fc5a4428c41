//! The messages between ranks.
use super::{FlagId, Hosts, LockId};
use crate::{Access, Minipage};
use foregather_machine::{Address, Rank};

/// The lane of every rank on which its server listens. Application threads have the lanes above.
pub const SERVER: u32 = 0;

/// The address of a rank's server.
pub const fn server_of(rank: Rank) -> Address {
    Address { rank, lane: SERVER }
}

/// What a thread wants of a minipage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// A copy to read.
    Read,
    /// The only copy, to write.
    Write,
    /// A push: these ranks get a copy to read although they did not ask.
    Push(Hosts),
    /// A free: all copies closed, later requests refused.
    Free,
    /// Reuse after a free. A minipage that was never freed needs none.
    Allocate,
}

impl Want {
    /// The access that the requester has once it is served.
    pub fn access(self) -> Access {
        match self {
            Self::Read => Access::Read,
            Self::Write => Access::Write,
            Self::Push(_) | Self::Free | Self::Allocate => Access::None,
        }
    }
}

/// One message. Messages to a rank go to its server; replies go to the lane that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// To the manager; the reply goes to `lane` of the sending rank. [`SERVER`] means that its server takes
    /// the reply: a prefetch.
    Request {
        /// The minipage.
        minipage: Minipage,
        /// What the requester wants.
        want: Want,
        /// The lane that waits for the reply.
        lane: u32,
    },
    /// Manager to owner: send `by` a copy; for writing, the only one.
    Forward {
        /// The minipage.
        minipage: Minipage,
        /// The access that `by` gets, never `None`.
        access: Access,
        /// The lane that gets the copy.
        by: Address,
    },
    /// Manager to owner: send all of these a copy to read.
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
    /// Owner to requester: the minipage's bytes follow.
    Data {
        /// The minipage.
        minipage: Minipage,
        /// The access that it gives, never `None`.
        access: Access,
    },
    /// Manager to requester: the requester's own copy will do.
    Grant {
        /// The minipage.
        minipage: Minipage,
        /// The access that it gives, never `None`.
        access: Access,
    },
    /// Owner to a server that did not ask: the minipage's bytes follow, to be read.
    Pushed {
        /// The minipage.
        minipage: Minipage,
    },
    /// Requester, or receiver of a push, to manager: the copy is open. Ends the manager's being busy.
    Installed {
        /// The minipage.
        minipage: Minipage,
    },
    /// Manager to requester: the push, free or allocation is done.
    Done {
        /// The minipage.
        minipage: Minipage,
    },
    /// Manager to requester: the minipage has been freed.
    Refused {
        /// The minipage.
        minipage: Minipage,
        /// The access asked for; `None`: to push or free it.
        access: Access,
    },
    /// To the lock's manager: wait in line; the reply goes to `lane`.
    Lock {
        /// The lock.
        lock: LockId,
        /// The lane that waits for the reply.
        lane: u32,
    },
    /// To the lock's manager: `lane` of the sending rank leaves it.
    Unlock {
        /// The lock.
        lock: LockId,
        /// The lane that held it.
        lane: u32,
        /// Whether that thread panicked with the lock held.
        panicked: bool,
    },
    /// From the lock's manager: the lock is granted.
    Granted {
        /// The lock.
        lock: LockId,
    },
    /// From the lock's manager: the thread holds it already, and would wait for itself.
    Denied {
        /// The lock.
        lock: LockId,
    },
    /// From the lock's manager: a rank panicked with the lock held, so no thread gets it any more.
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
    /// To the flag's manager: wait in line for a post; the reply goes to `lane`.
    Take {
        /// The flag.
        flag: FlagId,
        /// The lane that waits for the reply.
        lane: u32,
    },
    /// From the flag's manager: the thread has a post.
    Taken {
        /// The flag.
        flag: FlagId,
    },
    /// To every server: the sending rank's threads have ended, and none of its requests is under way.
    Detach,
}

impl Message {
    /// The minipage whose bytes follow, if any.
    pub fn carries(&self) -> Option<Minipage> {
        match *self {
            Self::Data { minipage, .. } | Self::Pushed { minipage } => Some(minipage),
            _ => None,
        }
    }
}
