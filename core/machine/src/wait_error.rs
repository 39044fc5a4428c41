//! Why a wait at a barrier failed: three variants, each of which calls for a different reaction.
use crate::Rank;
use core::fmt;
use core::time::Duration;

/// A thread or a rank, with what is known of it. `Display` prints a phrase.
///
/// ```
/// # use foregather_machine as foregather;
/// use foregather::Participant;
///
/// let who = Participant { rank: Some(1), name: Some("reader".to_owned()), ended: true };
/// assert_eq!(who.to_string(), "rank 1 (thread `reader`), which has ended");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Participant {
    /// Its rank, or the number of the place that its thread has taken.
    pub rank: Option<Rank>,
    /// The name of its thread.
    pub name: Option<String>,
    /// Whether its thread has exited.
    pub ended: bool,
}

/// The name of the parent process after a fork.
const PARENT: &str = "the parent process";

impl Participant {
    #[doc(hidden)]
    /// A thread of the parent process: a fork copies shared memory, but only one of the threads.
    pub fn parent() -> Self {
        Self { name: Some(PARENT.to_owned()), ..Self::default() }
    }

    /// A thread of which only the rank is known.
    pub fn rank(rank: Rank) -> Self {
        Self { rank: Some(rank), ..Self::default() }
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rank, &self.name) {
            (Some(rank), Some(name)) => write!(f, "rank {rank} (thread `{name}`)")?,
            (Some(rank), None) => write!(f, "rank {rank}")?,
            (None, Some(name)) if name == PARENT => f.write_str("a thread of the parent process, which a fork does not copy,")?,
            (None, Some(name)) => write!(f, "thread `{name}`")?,
            (None, None) => f.write_str("a thread without a name")?,
        }
        if self.ended { f.write_str(", which has ended") } else { Ok(()) }
    }
}

/// The threads or ranks that a timed-out wait was for: the content of [`WaitError::TimedOut`].
///
/// ```
/// # use foregather_machine as foregather;
/// use foregather::{Missing, WaitError, Participant};
/// use std::time::Duration;
///
/// // A barrier of threads without ranks: one has waited here before, at place 1.
/// let missing = Missing { waited: Duration::from_millis(20), count: 2, who: vec![Participant::rank(1)] };
/// assert_eq!(
///     WaitError::TimedOut(Box::new(missing)).to_string(),
///     "2 did not arrive within 20.0ms: rank 1; and 1 that never arrived; call again to continue the wait"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// How long the wait lasted.
    pub waited: Duration,
    /// How many have not arrived.
    pub count: usize,
    /// Those of them that are known: every member that has a rank, with the name of its thread if that has
    /// waited there before; and threads without ranks that have waited there before. Others are only counted.
    pub who: Vec<Participant>,
}

/// Why a wait at a barrier failed: three variants, each of which calls for a different reaction.
///
/// | variant | what has happened | what to do |
/// |---|---|---|
/// | [`WaitError::TimedOut`] | not all members have arrived yet | call again: the arrival still counts, and the next call continues the wait |
/// | [`WaitError::Left`] | a member was dropped, or a guarded thread has panicked | create a new barrier, or give up |
/// | [`WaitError::Lost`] | a process has died or is stopped; not for barriers of threads | give up, or restart without it |
///
/// ```
/// # use foregather_machine as foregather;
/// use foregather::WaitError;
///
/// fn reaction(error: &WaitError) -> String {
///     match error {
///         WaitError::TimedOut(missing) => format!("{} are late after {:?}", missing.count, missing.waited),
///         WaitError::Left(who) => format!("a new barrier without {who}"),
///         WaitError::Lost(who) => format!("give up: {who}"),
///     }
/// }
/// # let _ = reaction;
/// ```
///
/// `Debug` prints the same sentence as `Display`, because `main` and `unwrap` print errors by `Debug`. `?`
/// converts it into an [`Error`](crate::Error), whose cause is [`Cause::Wait`](crate::Cause::Wait).
///
/// # Cost
/// One word, so a `Result` of it is returned in registers; its details are gathered only when a wait fails.
#[derive(Clone, PartialEq, Eq)]
pub enum WaitError {
    /// Not all members have arrived in time. The arrival still counts: the next call continues this wait.
    TimedOut(Box<Missing>),
    /// The wait cannot succeed: a member has left, or its thread has panicked. Create a new barrier.
    Left(Box<Participant>),
    /// The wait cannot succeed: a process has died or is stopped.
    Lost(Box<Participant>),
}

impl WaitError {
    /// Returns whether the next call may succeed.
    pub fn is_timed_out(&self) -> bool {
        matches!(self, Self::TimedOut(_))
    }

    /// Returns the threads or ranks that have not arrived or will not, those of them that are known.
    pub fn missing(&self) -> &[Participant] {
        match self {
            Self::TimedOut(missing) => &missing.who,
            Self::Left(who) | Self::Lost(who) => core::slice::from_ref(who),
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(missing) => {
                write!(f, "{} did not arrive within {:.1?}", missing.count, missing.waited)?;
                for (at, who) in missing.who.iter().enumerate() {
                    write!(f, "{}{who}", if at == 0 { ": " } else { "; " })?;
                }
                let unknown = missing.count.saturating_sub(missing.who.len());
                match (unknown, missing.who.is_empty()) {
                    (0, _) | (_, true) => {}
                    (unknown, false) => write!(f, "; and {unknown} that never arrived")?,
                }
                f.write_str("; call again to continue the wait")
            }
            Self::Left(who) => write!(f, "{who} has left: create a new barrier"),
            Self::Lost(who) => write!(f, "the process of {who} has died or stopped responding"),
        }
    }
}

/// Prints the sentence, since `main` and `unwrap` print errors by `Debug`.
impl fmt::Debug for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for WaitError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_those_who_are_known_and_counts_the_others() {
        let ended = Participant { rank: Some(0), name: Some("mayfly".to_owned()), ended: true };
        let missing = Missing { waited: Duration::from_micros(10_123), count: 3, who: vec![ended.clone(), Participant::rank(1)] };
        let error = WaitError::TimedOut(Box::new(missing));
        assert_eq!(
            format!("{error:?}"),
            "3 did not arrive within 10.1ms: rank 0 (thread `mayfly`), which has ended; rank 1; and 1 that never arrived; call \
             again to continue the wait"
        );
        assert_eq!(error.missing(), [ended, Participant::rank(1)]);
    }

    #[test]
    fn a_result_fits_into_two_registers() {
        assert!(size_of::<Result<bool, WaitError>>() <= 16);
    }
}
