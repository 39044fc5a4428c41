//! What came of a simulation of a cluster.
use super::timeline::Stroke;
use crate::smp::{Counts, Span, Split};
use foregather_machine::{Address, Nanos, WaitContext};
use std::fmt;

/// How a simulation ended. Threads stand in the order of their ranks and, within a rank, their lanes.
#[derive(Debug)]
pub struct Report<T> {
    /// Each thread's output; `None` if it did not come to its end.
    pub outputs: Vec<Option<T>>,
    /// Who waited when nothing was left to happen, or when the limit had come.
    pub deadlocked: Vec<Deadlocked>,
    /// When it was over.
    pub end: Nanos,
    /// Frames that arrived.
    pub frames: u64,
    /// Messages that were dropped, since no receive was posted for them.
    pub dropped: u64,
    /// What each thread's processor time went into.
    pub splits: Vec<Split>,
    /// By node, how often something happened.
    pub counts: Vec<Counts>,
    /// Who did what when, if that was asked for, by the beginnings.
    pub strokes: Vec<Stroke>,
    /// By node, what its threads were doing when, if that was asked for; threads are numbered by their lanes.
    pub spans: Vec<Vec<Span>>,
    /// A hash of all events in order.
    pub trace: u64,
    /// How many events there were.
    pub events: u64,
}

/// A thread that did not come to its end.
#[derive(Clone, Copy, Debug)]
pub struct Deadlocked {
    /// Which.
    pub at: Address,
    /// What it last waited for and looked in vain, since when; `None` if it never did.
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
