//! What travels between ranks.
use super::{FlagId, Hosts, LockId};
use crate::{Access, Minipage};
use foregather_machine::{Address, Rank};

/// The lane of every rank on which its server listens. Application threads have the lanes above.
pub const SERVER: u32 = 0;

/// Where the server of a rank listens.
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
    /// That these ranks get a copy to read although they did not ask.
    Push(Hosts),
    /// That it is gone: all copies closed, later requests refused.
    Free,
    /// That it can be used again after having been freed. One that was never freed can be used as it is.
    Allocate,
}

impl Want {
    /// What the requester may do with its copy once it is served.
    pub fn access(self) -> Access {
        match self {
            Self::Read => Access::Read,
            Self::Write => Access::Write,
            Self::Push(_) | Self::Free | Self::Allocate => Access::None,
        }
    }
}

/// One message. Those to a rank go to its server; replies go to the lane that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// To the manager: the reply goes to `lane` of the sending rank. [`SERVER`] means that its server takes the reply: a
    /// prefetch.
    Request {
        /// Of what.
        minipage: Minipage,
        /// What for.
        want: Want,
        /// Who waits for the reply.
        lane: u32,
    },
    /// Manager to owner: send `by` a copy; for writing, the only one.
    Forward {
        /// Of what.
        minipage: Minipage,
        /// What `by` will do with it, never `None`.
        access: Access,
        /// Who gets it.
        by: Address,
    },
    /// Manager to owner: send all of these a copy to read.
    Spread {
        /// Of what.
        minipage: Minipage,
        /// Who gets one.
        to: Hosts,
    },
    /// Manager to a holder: close your copy.
    Invalidate {
        /// Which.
        minipage: Minipage,
    },
    /// Holder to manager: it is closed.
    Invalidated {
        /// Which.
        minipage: Minipage,
    },
    /// Owner to requester: the minipage's bytes follow.
    Data {
        /// Which.
        minipage: Minipage,
        /// What they may be used for, never `None`.
        access: Access,
    },
    /// Manager to requester: the copy you have will do.
    Grant {
        /// Which.
        minipage: Minipage,
        /// What it may be used for, never `None`.
        access: Access,
    },
    /// Owner to a server that did not ask: the minipage's bytes follow, to be read.
    Pushed {
        /// Which.
        minipage: Minipage,
    },
    /// Requester, or who was pushed to, to manager: it is open. Ends the manager's being busy.
    Installed {
        /// Which.
        minipage: Minipage,
    },
    /// Manager to requester: pushed, freed or allotted.
    Done {
        /// Which.
        minipage: Minipage,
    },
    /// Manager to requester: it has been freed.
    Refused {
        /// Which.
        minipage: Minipage,
        /// What was asked for; `None`: to push or to free it.
        access: Access,
    },
    /// To the lock's manager: wait in line; the reply goes to `lane`.
    Lock {
        /// Which.
        lock: LockId,
        /// Who waits for the reply.
        lane: u32,
    },
    /// To the lock's manager: `lane` of the sending rank leaves it.
    Unlock {
        /// Which.
        lock: LockId,
        /// Who had it.
        lane: u32,
        /// Did that thread panic while it had it?
        panicked: bool,
    },
    /// It is yours.
    Granted {
        /// Which.
        lock: LockId,
    },
    /// You have it already: you would wait for yourself.
    Denied {
        /// Which.
        lock: LockId,
    },
    /// That rank panicked while it had it: nobody gets it any more.
    Poisoned {
        /// Which.
        lock: LockId,
        /// Who panicked.
        by: Rank,
    },
    /// To the flag's manager: once more. There is no reply.
    Post {
        /// Which.
        flag: FlagId,
    },
    /// To the flag's manager: wait in line until it was posted; the reply goes to `lane`.
    Take {
        /// Which.
        flag: FlagId,
        /// Who waits for the reply.
        lane: u32,
    },
    /// It was posted, and that was for you.
    Taken {
        /// Which.
        flag: FlagId,
    },
    /// To every server: the sending rank's threads are through, and nothing it asked for is under way.
    Detach,
}

impl Message {
    /// Do the bytes of a minipage follow?
    pub fn carries(&self) -> Option<Minipage> {
        match *self {
            Self::Data { minipage, .. } | Self::Pushed { minipage } => Some(minipage),
            _ => None,
        }
    }
}
