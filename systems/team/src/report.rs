//! The report about a team: its size and why, and statistics of its calls.
use crate::size::Allowed;
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Counters that one caller at a time writes and any thread can read.
pub(crate) struct Stats {
    pub(crate) members: AtomicU32,
    pub(crate) regions: AtomicU64,
    pub(crate) provided: AtomicU64,
    pub(crate) serial: AtomicU64,
    pub(crate) busy: AtomicU64,
    pub(crate) late: AtomicU64,
    pub(crate) shrunk: AtomicU64,
    pub(crate) grown: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl Stats {
    pub(crate) const fn new() -> Self {
        Self {
            members: AtomicU32::new(1),
            regions: AtomicU64::new(0),
            provided: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            late: AtomicU64::new(0),
            shrunk: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Adds `n` to a counter that only this thread writes at the moment; cheaper than an atomic addition.
    #[inline]
    pub(crate) fn count(counter: &AtomicU64, n: u64) {
        counter.store(counter.load(Relaxed) + n, Relaxed);
    }
}

/// The state of a team. If calls run while it is read, its numbers may be from slightly different moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The current number of members; 1 is the caller alone.
    pub members: u32,
    /// The requested number of members; `None` for a fitting team.
    pub asked: Option<u32>,
    /// The machine's limits now.
    pub allowed: Allowed,
    /// Calls that ran on the team.
    pub regions: u64,
    /// Those of them that ran on the threads of another library in the process.
    pub provided: u64,
    /// Calls that ran serially because the team had one member.
    pub serial: u64,
    /// Calls that ran serially because the team was busy.
    pub busy: u64,
    /// Parts of late members that callers did.
    pub late: u64,
    /// How often it became smaller because more members were not faster.
    pub shrunk: u64,
    /// How often it became larger by trial.
    pub grown: u64,
    /// Threads that could not be started.
    pub refused: u64,
    /// How its members wait.
    pub policy: String,
    /// Which library's threads run its calls, and why; `None` while a call is running.
    pub threads: Option<String>,
    /// Invalid settings, and the values expected.
    pub trouble: Vec<String>,
}

impl Report {
    pub(crate) fn of(
        stats: &Stats,
        asked: Option<u32>,
        allowed: Allowed,
        policy: String,
        threads: Option<String>,
        trouble: Vec<String>,
    ) -> Self {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        Self {
            members: stats.members.load(Relaxed),
            asked,
            allowed,
            regions: read(&stats.regions),
            provided: read(&stats.provided),
            serial: read(&stats.serial),
            busy: read(&stats.busy),
            late: read(&stats.late),
            shrunk: read(&stats.shrunk),
            grown: read(&stats.grown),
            refused: read(&stats.refused),
            policy,
            threads,
            trouble,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = self.asked.map_or_else(|| "as many as fit".to_owned(), |asked| format!("{asked} asked for"));
        writeln!(f, "members    {} ({asked}; {})", self.members, self.allowed)?;
        writeln!(f, "waiting    {}", self.policy)?;
        writeln!(f, "calls      {} on the team, {} serial, {} while it was busy", self.regions, self.serial, self.busy)?;
        writeln!(f, "late       {} parts of late members were done by their callers", self.late)?;
        write!(f, "size       {} times smaller, {} times larger, {} threads refused", self.shrunk, self.grown, self.refused)?;
        self.trouble.iter().try_for_each(|trouble| write!(f, "\ntrouble    {trouble}"))
    }
}
