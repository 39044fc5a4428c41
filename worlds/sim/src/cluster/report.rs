//! The result of a simulation of a cluster.
use super::timeline::Stroke;
use crate::smp::{Counts, Span, Split};
use foregather_machine::{Address, Nanos, WaitContext};
use std::fmt;

/// How a simulation ended. Threads are in the order of their ranks and, within a rank, their lanes.
#[derive(Debug)]
pub struct Report<T> {
    /// Each thread's output; `None` if it did not come to its end.
    pub outputs: Vec<Option<T>>,
    /// Threads that waited when no event was left, or when the limit had come.
    pub deadlocked: Vec<Deadlocked>,
    /// When it was over.
    pub end: Nanos,
    /// Frames that arrived.
    pub frames: u64,
    /// Messages that were dropped, since no receive was posted for them.
    pub dropped: u64,
    /// How each thread spent its processor time.
    pub splits: Vec<Split>,
    /// By node, how often something happened.
    pub counts: Vec<Counts>,
    /// Strokes in the order of their beginnings, if asked for.
    pub strokes: Vec<Stroke>,
    /// By node, what its threads were doing when, if asked for; threads are numbered by their lanes.
    pub spans: Vec<Vec<Span>>,
    /// A hash of all events in order.
    pub trace: u64,
    /// How many events there were.
    pub events: u64,
}

/// A thread that did not come to its end.
#[derive(Clone, Copy, Debug)]
pub struct Deadlocked {
    /// The thread's address.
    pub at: Address,
    /// Its last wait that looked in vain; `None` if there was none.
    pub why: Option<WaitContext>,
}

impl fmt::Display for Deadlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} lane {}", self.at.rank, self.at.lane)?;
        let Some(why) = self.why else { return f.write_str(" computes, or waits for nothing it could name") };
        write!(f, " waits in {}", why.what)?;
        if let Some(peer) = why.peer {
            write!(f, " for rank {peer}")?;
        }
        write!(f, " since {:.1} us", why.since.as_us())
    }
}
