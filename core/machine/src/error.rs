//! What becomes of a wait or a set-up that cannot succeed. Each error names the culprit and, where there is one, the remedy.
use crate::{Nanos, Rank};
use core::fmt;

/// An operation of any world failed; its [`Cause`] says why.
///
/// One word, so that a `Result` fits into a register: success pays nothing for what failure has to tell.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Cause>);

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The group can never meet again: this member left it, or was dropped in the middle of a wait.
    Poisoned {
        /// Who left, if it could still be told.
        by: Option<Rank>,
    },
    /// The deadline passed first.
    TimedOut {
        /// The primitive that waited.
        what: &'static str,
        /// The waiting member.
        rank: Rank,
        /// The member it waited for, if one alone.
        peer: Option<Rank>,
        /// How long it waited; 0 if nobody noted when it began.
        waited_ns: u64,
    },
    /// A process of the job has died.
    PeerLost {
        /// Whose process it was.
        rank: Rank,
    },
    /// The algorithm cannot work with a group of this size.
    Size {
        /// The algorithm.
        what: &'static str,
        /// The size asked for.
        size: u32,
        /// What it takes instead.
        needs: &'static str,
    },
    /// A rank outside the group, or one that already has its member.
    Rank {
        /// The rank asked for.
        rank: Rank,
        /// The group's size.
        size: u32,
    },
    /// A slot that the endpoint does not have.
    Slot {
        /// The slot asked for.
        slot: u32,
        /// How many there are.
        slots: u32,
    },
    /// A message that is too long for where it is to go.
    Length {
        /// What is too long.
        what: &'static str,
        /// How many bytes it has.
        bytes: usize,
        /// For how many there is room.
        room: usize,
    },
    /// A setting that contradicts itself or another one.
    Setting {
        /// What is wrong.
        what: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// A forced message came before its receive was posted, and is lost.
    Unposted {
        /// Who sent it.
        from: Rank,
        /// Its tag.
        tag: u32,
    },
    /// The operating system refused.
    Os {
        /// What was attempted.
        what: &'static str,
        /// The number it gave.
        errno: i32,
        /// What the user can do about it; may be empty.
        remedy: &'static str,
    },
    /// This machine lacks something.
    Missing {
        /// What is missing.
        what: String,
        /// How to get it.
        remedy: String,
    },
}

impl Error {
    /// Why.
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// Why a result is a failure, if it is one.
    pub fn of<T>(result: &Result<T, Self>) -> Option<&Cause> {
        result.as_ref().err().map(Self::cause)
    }

    /// A deadline passed at `now` while `why` was waiting.
    #[cold]
    pub fn timed_out(why: &crate::Why, now: Nanos) -> Self {
        let waited_ns = if why.since == Nanos::ZERO { 0 } else { (now - why.since).0 };
        Cause::TimedOut { what: why.what, rank: why.rank, peer: why.peer, waited_ns }.into()
    }
}

impl From<Cause> for Error {
    #[cold]
    fn from(cause: Cause) -> Self {
        Self(Box::new(cause))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisoned { by: Some(by) } => {
                write!(f, "rank {by} left the group in the middle: it can never meet again; build a new group")
            }
            Self::Poisoned { by: None } => {
                f.write_str("a member left the group in the middle: it can never meet again; build a new group")
            }
            Self::TimedOut { what, rank, peer, waited_ns } => {
                write!(f, "{what}: rank {rank} waited in vain")?;
                if *waited_ns > 0 {
                    write!(f, " for {}", Nanos(*waited_ns))?;
                }
                peer.map_or(Ok(()), |peer| write!(f, "; rank {peer} did not come"))
            }
            Self::PeerLost { rank } => write!(f, "the process of rank {rank} has died"),
            Self::Size { what, size, needs } => write!(f, "{what} cannot synchronise {size} members: it needs {needs}"),
            Self::Rank { rank, size } => write!(f, "rank {rank} is taken already, or is not one of the group's {size}"),
            Self::Slot { slot, slots } => write!(f, "there is no slot {slot}: the endpoint has {slots}"),
            Self::Length { what, bytes, room } => write!(f, "{what} of {bytes} bytes does not fit: there is room for {room}"),
            Self::Setting { what, needs } => write!(f, "{what} cannot be like that: needed is {needs}"),
            Self::Unposted { from, tag } => write!(
                f,
                "the forced message {tag} of rank {from} came before its receive was posted and is lost: synchronise the two, or send it by the long protocol"
            ),
            Self::Os { what, errno, remedy } => {
                write!(f, "{what} failed: error {errno}")?;
                if remedy.is_empty() { Ok(()) } else { write!(f, "; {remedy}") }
            }
            Self::Missing { what, remedy } => write!(f, "{what} is missing; {remedy}"),
        }
    }
}

impl core::error::Error for Error {}
