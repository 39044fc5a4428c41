//! A lock that the threads of a job share: its kind, and its critical sections.
use super::distribution::Distribution;
use foregather_machine::Nanos;
use foregather_wait::Policy;

/// A lock and its critical sections.
#[derive(Clone, Debug)]
pub struct JobLock {
    /// Who gets it next.
    pub kind: LockKind,
    /// How long a thread holds it, in processor time.
    pub hold: Distribution,
    /// Page faults within critical sections.
    pub fault: Option<Fault>,
    /// Does a thread ask for a longer slice in its critical sections (`rseq` of Linux 7.0)?
    pub extend: bool,
}

/// How a lock is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// A word that is taken by whoever sees it free first; the waiters spin.
    Spin,
    /// Numbered tickets, first come, first served; all waiters watch one word.
    Ticket,
    /// A queue (Mellor-Crummey & Scott 1991), first come, first served; each waiter watches its own word.
    Mcs,
    /// A word as in `Spin`; a waiter sleeps, and a release wakes the first of the sleepers (`futex(2)`).
    /// Another thread may take the lock before that one runs.
    Futex,
    /// As `Futex`, but a waiter spins for this time of its processor before it sleeps.
    TwoPhase {
        /// The bound of the spin.
        spin: Nanos,
    },
}

impl LockKind {
    /// How its threads wait, unless a job has another policy.
    pub const fn policy(self) -> Policy {
        match self {
            Self::Spin | Self::Ticket | Self::Mcs => Policy::Spin,
            Self::Futex => Policy::Block,
            Self::TwoPhase { spin } => Policy::TwoPhase { spin },
        }
    }
}

/// Page faults within critical sections, each at a random place of its section.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The share of critical sections that have one, 0 to 1.
    pub chance: f64,
    /// How long a fault takes.
    pub takes: Distribution,
    /// What the thread does meanwhile.
    pub kind: FaultKind,
}

/// The two kinds of page faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The page is in memory: the thread keeps its processor, in the kernel.
    Minor,
    /// The page has to be read: the thread sleeps.
    Major,
}

impl JobLock {
    /// A lock without page faults.
    pub const fn new(kind: LockKind, hold: Distribution) -> Self {
        Self { kind, hold, fault: None, extend: false }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !self.hold.is_sound(true) {
            return Err(format!("holds its lock for impossible times: {:?}", self.hold));
        }
        match &self.fault {
            Some(fault) if !(0.0..=1.0).contains(&fault.chance) => {
                Err(format!("has a chance {} of a page fault: it is 0 to 1", fault.chance))
            }
            Some(fault) if !fault.takes.is_sound(true) => Err(format!("has page faults of impossible times: {:?}", fault.takes)),
            _ => Ok(()),
        }
    }
}
