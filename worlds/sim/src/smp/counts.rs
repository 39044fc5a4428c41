//! Sums that the simulated machine keeps: processor time by use, and what the scheduler did.
use foregather_machine::Nanos;

/// Processor time by what it went into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Time in which threads computed.
    pub compute: Nanos,
    /// Time in which threads waited for a word and kept their processors.
    pub spin: Nanos,
    /// Time that switches between threads took.
    pub switch: Nanos,
    /// Time in which processors had no thread.
    pub idle: Nanos,
}

impl Split {
    /// The sum of the four parts.
    pub fn total(&self) -> Nanos {
        self.compute + self.spin + self.switch + self.idle
    }

    pub(super) fn add(&mut self, other: Self) {
        self.compute += other.compute;
        self.spin += other.spin;
        self.switch += other.switch;
        self.idle += other.idle;
    }
}

/// How often each of the scheduler's actions happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// A processor changed its thread.
    pub switches: u64,
    /// A thread left its processor, to another thread or to none.
    pub departures: u64,
    /// A thread was woken.
    pub wakes: u64,
    /// A processor was marked for rescheduling, also if it had been marked already.
    pub marks: u64,
    /// A processor was marked that had been marked already.
    pub duplicate_marks: u64,
    /// Of the marks: those of a processor on which the woken thread did not run last, and whose thread has
    /// something left of its allotment (Linux 2.4).
    pub foreign_marks: u64,
    /// A new epoch began (Linux 2.4).
    pub epochs: u64,
    /// A thread ran on another processor than before.
    pub migrations: u64,
    /// A group had used up its quota.
    pub throttles: u64,
    /// A NIC interrupted a processor to wake a sleeping thread.
    pub interrupts: u64,
}
