//! Errors of waits and set-ups that cannot succeed. Each error names the culprit and, where there is one, the
//! remedy.
use crate::errno::Errno;
use crate::{Nanos, Rank, WaitError};
use core::fmt;

/// An operation failed; its [`Cause`] says why, and it prints as one sentence that names the culprit and the
/// remedy.
///
/// `Debug` prints the sentence that `Display` does, since `main` and `unwrap` print errors by `Debug`.
///
/// ```
/// # mod foregather { pub use foregather_machine::Error; pub mod engine { pub use foregather_machine::Cause; } }
/// use foregather::Error;
/// use foregather::engine::Cause;
///
/// let error = Error::from(Cause::Rank { rank: 1, size: 1 });
/// assert!(format!("{error:?}").contains("start it by `foregather run -n 2 PROGRAM`"));
/// match error.cause() {
///     Cause::Rank { rank, size } => println!("{rank} of {size}"),
///     Cause::PeerLost { rank, .. } => println!("rank {rank} was lost"),
///     _ => println!("{error}"),
/// }
/// ```
///
/// # Cost
/// One word, so a `Result` fits into a register: success pays nothing for the details of failure.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Cause>);

/// Why an operation failed. `Debug` prints the sentence, too.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The operation can never succeed: this rank has failed or panicked, or its member was dropped early.
    Poisoned {
        /// The rank that left, if it is known.
        by: Option<Rank>,
    },
    /// The data that a lock guards cannot be relied on any more: a holder panicked.
    PoisonedLock {
        /// The rank that panicked.
        by: Rank,
    },
    /// The deadline passed first.
    TimedOut {
        /// The primitive that waited.
        what: &'static str,
        /// The waiting member.
        rank: Rank,
        /// The member it waited for, if it was one alone.
        peer: Option<Rank>,
        /// How long it waited; 0 if the beginning was not recorded.
        waited_ns: u64,
    },
    /// An error that the program found itself: [`Error::other`].
    Other {
        /// The program's own words.
        why: String,
    },
    /// A barrier's wait ended without a meeting.
    Wait(WaitError),
    /// A process of the job has died, or stood still for longer than the job allows.
    PeerLost {
        /// The rank of that process.
        rank: Rank,
        /// When the loss was known, by the clock of the rank that reports it; 0 if no clock was read.
        since: Nanos,
        /// What this rank was doing; may be empty.
        doing: &'static str,
    },
    /// Whether the process of a rank still runs cannot be known from here, so a lost one could not be told
    /// from a slow one.
    Unseen {
        /// The rank of that process.
        rank: Rank,
        /// Why, and the remedy.
        why: &'static str,
    },
    /// These ranks wait for each other, each for the next one and the last for the first: none of them can go
    /// on.
    Deadlock {
        /// The ranks, in the order of their waits.
        ranks: Vec<Rank>,
        /// What this rank was doing.
        doing: &'static str,
    },
    /// The awaited peer has left in order: nothing more will come.
    Closed {
        /// The peer, if one alone was waited for; otherwise all of them have left.
        peer: Option<Rank>,
    },
    /// The writer of a broadcast has overtaken this reader, which has missed messages. The next call goes on.
    Skipped {
        /// How many messages it has missed.
        messages: u64,
    },
    /// Another process has this reader's place in a queue, since this one was taken for dead; or its words
    /// there were overwritten.
    Replaced {
        /// The rank of the place.
        rank: Rank,
    },
    /// A rank of the job failed, and said why.
    Elsewhere {
        /// The rank that failed.
        rank: Rank,
        /// Its error, as a sentence.
        why: String,
    },
    /// Memory that a peer was to read is no longer exposed, or is shorter than announced.
    Unexposed {
        /// The rank whose memory it was.
        rank: Rank,
    },
    /// The two sides of a message do not agree about it.
    Mismatch {
        /// The sender.
        from: Rank,
        /// The piece of the message, counted from 0.
        piece: u32,
        /// What the sender packed, in words.
        packed: String,
        /// What the receiver unpacked, in words.
        unpacked: String,
    },
    /// A message to or from that rank is open already.
    Busy {
        /// The rank at the other side.
        peer: Rank,
        /// What is open, in words.
        what: &'static str,
    },
    /// A peer sent what no peer of this version sends.
    ProtocolViolation {
        /// The sender.
        from: Rank,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A process may not join the job.
    Refused {
        /// Why, and the remedy.
        why: String,
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
        /// How many slots there are.
        slots: u32,
    },
    /// A message that is too long for its destination.
    Length {
        /// What is too long.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The longest that fits.
        room: usize,
    },
    /// A message that is no whole number of the receiver's elements.
    Elements {
        /// Its length.
        bytes: usize,
        /// The bytes of an element.
        element: usize,
    },
    /// A setting that contradicts itself or another one.
    Setting {
        /// What is wrong.
        what: &'static str,
        /// What the setting needs.
        needs: &'static str,
    },
    /// A forced message came before its receive was posted, and is lost.
    Unposted {
        /// The sender.
        from: Rank,
        /// Its tag.
        tag: u32,
    },
    /// The operating system refused.
    Os {
        /// What was attempted.
        what: &'static str,
        /// The error number it gave.
        errno: i32,
        /// What the user can do about it; may be empty. Some numbers have a remedy of their own (`EMFILE`:
        /// `ulimit -n`), which is printed instead.
        remedy: &'static str,
    },
    /// This machine lacks something.
    Unavailable {
        /// What is missing.
        what: String,
        /// How to get it.
        remedy: String,
    },
}

impl Error {
    /// The reason.
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// An error of the program's own, in its words alone: a body of `job` or `shared` returns it. Say which
    /// file and which rank: `Error::other(format!("rank {}: {path}: {error}", me.rank()))`.
    ///
    /// ```
    /// # use foregather_machine as foregather;
    /// use foregather::Error;
    ///
    /// fn parse(line: &str) -> Result<u32, Error> {
    ///     line.trim().parse().map_err(Error::other)
    /// }
    /// assert_eq!(parse("x").unwrap_err().to_string(), "invalid digit found in string");
    /// ```
    pub fn other(error: impl fmt::Display) -> Self {
        Cause::Other { why: error.to_string() }.into()
    }

    /// The cause of a result's failure, if it is one.
    pub fn of<T>(result: &Result<T, Self>) -> Option<&Cause> {
        result.as_ref().err().map(Self::cause)
    }

    /// Returns whether a wait gave up because its time was over.
    pub fn is_timed_out(&self) -> bool {
        match self.cause() {
            Cause::TimedOut { .. } => true,
            Cause::Wait(error) => error.is_timed_out(),
            _ => false,
        }
    }

    /// The process of `rank` was lost at `since`, and with it what `why` waits for.
    #[cold]
    pub fn peer_lost(rank: Rank, since: Nanos, why: &crate::WaitContext) -> Self {
        Cause::PeerLost { rank, since, doing: why.what }.into()
    }

    /// The process of `rank` was lost while this rank did nothing in particular.
    #[cold]
    pub fn lost(rank: Rank) -> Self {
        Cause::PeerLost { rank, since: Nanos::ZERO, doing: "" }.into()
    }

    /// The rank that was lost, if that is the cause.
    pub fn lost_rank(&self) -> Option<Rank> {
        if let Cause::PeerLost { rank, .. } = *self.0 { Some(rank) } else { None }
    }

    /// A deadline passed at `now` while `why` was waiting.
    #[cold]
    pub fn timed_out(why: &crate::WaitContext, now: Nanos) -> Self {
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

impl From<WaitError> for Error {
    #[cold]
    fn from(error: WaitError) -> Self {
        Cause::Wait(error).into()
    }
}

/// Prints the sentence, since `main` and `unwrap` print errors by `Debug`; [`Error::cause`] has the variant.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Prints the sentence: times in it are spans, and unknown facts are left out.
impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

fn no_such_rank(f: &mut fmt::Formatter<'_>, rank: Rank, size: u32) -> fmt::Result {
    match size {
        1 if rank > 0 => write!(
            f,
            "there is no rank {rank}: this job has one rank; start it by `foregather run -n {} PROGRAM` or another launcher",
            rank.saturating_add(1)
        ),
        _ if rank >= size => write!(f, "there is no rank {rank}: ranks are 0 to {}, of {size}", size.saturating_sub(1)),
        _ => write!(f, "rank {rank} is taken already: each rank has one handle"),
    }
}

/// A refusal of the system; without a number it is only known that there was one.
fn refused(f: &mut fmt::Formatter<'_>, what: &str, errno: i32, remedy: &'static str) -> fmt::Result {
    let (suggested, errno) = (Some(remedy).filter(|remedy| !remedy.is_empty()), Errno(errno));
    write!(f, "{what} failed")?;
    // The attempt suggests the usual remedy; some numbers need another one.
    let remedy = if errno.0 == 0 {
        suggested
    } else {
        write!(f, ": {errno}")?;
        errno.remedy().or(suggested).or(errno.advice())
    };
    remedy.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisoned { by: Some(by) } => {
                write!(f, "rank {by} has failed, panicked or left early, so the others cannot continue: restart without it")
            }
            Self::Poisoned { by: None } => {
                f.write_str("a member has failed, panicked or left early, so the others cannot continue: restart without it")
            }
            Self::PoisonedLock { by } => {
                write!(f, "rank {by} panicked while it held this lock, so it stays locked: create a new one")
            }
            Self::TimedOut { what, rank, peer, waited_ns } => {
                write!(f, "{what}: rank {rank} timed out")?;
                if *waited_ns > 0 {
                    write!(f, " after {}", Nanos(*waited_ns))?;
                }
                match peer {
                    Some(peer) => write!(f, " waiting for rank {peer}; allow more time, or find what holds rank {peer} up"),
                    None => f.write_str("; allow more time, or find which rank is late"),
                }
            }
            Self::Other { why } => f.write_str(why),
            Self::Wait(error) => fmt::Display::fmt(error, f),
            Self::PeerLost { rank, doing, .. } => {
                write!(f, "the process of rank {rank} has died or stopped responding")?;
                if doing.is_empty() { Ok(()) } else { write!(f, "; this rank was waiting in: {doing}") }
            }
            Self::Unseen { rank, why } => write!(f, "cannot tell whether the process of rank {rank} still runs: {why}"),
            Self::Deadlock { ranks, doing } => {
                let [first, rest @ ..] = &ranks[..] else { return f.write_str("ranks wait for each other") };
                write!(f, "rank {first} waits for ")?;
                rest.iter().try_for_each(|rank| write!(f, "rank {rank}, which waits for "))?;
                write!(f, "rank {first}, so none can go on; this rank was waiting in: {doing}; ")?;
                f.write_str("let one of them do first what another one waits for, or use `exchange`")
            }
            Self::Closed { peer: Some(peer) } => write!(f, "rank {peer} has left in order: nothing more comes from it"),
            Self::Closed { peer: None } => f.write_str("all others have left in order: nothing more comes"),
            Self::Skipped { messages } => write!(f, "this reader was overtaken and has missed {messages} messages: read on"),
            Self::Replaced { rank } => {
                write!(f, "rank {rank} is another process's now, because this one was taken for dead; close this reader")
            }
            Self::Elsewhere { rank, why } => write!(f, "rank {rank} failed: {why}"),
            Self::Unexposed { rank } => write!(f, "rank {rank} exposes that memory no longer, or it is shorter than was said"),
            Self::Mismatch { from, piece, packed, unpacked } => {
                write!(f, "piece {piece} of the message from rank {from}: {packed} was packed, {unpacked} was unpacked; ")?;
                f.write_str("both sides must name the same pieces in the same order")
            }
            Self::Busy { peer, what } => write!(f, "{what} with rank {peer} is open already: end it first"),
            Self::ProtocolViolation { from, what } => {
                write!(f, "rank {from} sent {what}: are both sides of one version, and is it one of us?")
            }
            Self::Refused { why } => write!(f, "refused: {why}"),
            Self::Size { what, size, needs } => write!(f, "{what} cannot synchronise {size} members: it needs {needs}"),
            Self::Rank { rank, size } => no_such_rank(f, *rank, *size),
            Self::Slot { slot, slots } => write!(f, "there is no slot {slot}: the endpoint has {slots}"),
            Self::Length { what, bytes, room } => write!(f, "{what} of {bytes} bytes does not fit: there is room for {room}"),
            Self::Elements { bytes, element } => write!(
                f,
                "a message of {bytes} bytes is no whole number of elements of {element} bytes; receive the type that was sent"
            ),
            Self::Setting { what, needs } => write!(f, "{what} is invalid: expected {needs}"),
            Self::Unposted { from, tag } => write!(
                f,
                "the forced message {tag} of rank {from} came before its receive was posted and is lost: synchronise the two, or send it by the long protocol"
            ),
            Self::Os { what, errno, remedy } => refused(f, what, *errno, remedy),
            Self::Unavailable { what, remedy } => write!(f, "{what} is missing; {remedy}"),
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_system_has_a_name_and_the_remedy_of_its_number() {
        let said = |what, errno, remedy| Error::from(Cause::Os { what, errno, remedy }).to_string();
        for (errno, remedy, sentence) in [
            (24, "share less", "mapping failed: EMFILE (Too many open files); raise the limit of open files (ulimit -n)"),
            (12, "share less", "mapping failed: ENOMEM (Cannot allocate memory); share less"),
            (22, "", "mapping failed: EINVAL (Invalid argument)"),
            (0, "share less", "mapping failed; share less"),
        ] {
            assert_eq!(said("mapping", errno, remedy), sentence);
        }
        assert!(said("writing", 28, "").contains("ENOSPC (No space left on device); free some space"));
        assert!(said("mapping", 1, "").contains("seccomp"));
        assert!(said("making a thread", 11, "").contains("pids"));
    }

    #[test]
    fn a_timeout_names_the_late_rank_and_a_remedy() {
        let why = crate::WaitContext::new("broadcast", 1).since(Nanos::from_ms(10));
        let late = |why: crate::WaitContext| Error::timed_out(&why, Nanos::from_ms(210)).to_string();
        assert_eq!(
            late(why.of(0)),
            "broadcast: rank 1 timed out after 200.00 ms waiting for rank 0; allow more time, or find what holds rank 0 up"
        );
        assert_eq!(late(why), "broadcast: rank 1 timed out after 200.00 ms; allow more time, or find which rank is late");
    }

    #[test]
    fn a_lost_rank_is_a_sentence_without_a_clock_and_without_gaps() {
        let why = crate::WaitContext::new("a barrier", 0);
        let lost = Error::peer_lost(1, Nanos(4_268_590_000_000), &why);
        let sentence = "the process of rank 1 has died or stopped responding; this rank was waiting in: a barrier";
        assert_eq!([format!("{lost:?}"), format!("{:?}", lost.cause())], [sentence, sentence]);
        assert_eq!(format!("{:?}", Error::lost(1)), "the process of rank 1 has died or stopped responding");
    }
}
