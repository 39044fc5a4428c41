//! Sums that the simulated machine keeps: processor time by use, and what the scheduler did.
use foregather_machine::Nanos;

/// Processor time by what it went into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Computing.
    pub compute: Nanos,
    /// Spinning.
    pub spin: Nanos,
    /// Switching.
    pub switch: Nanos,
    /// Nothing.
    pub idle: Nanos,
}

impl Split {
    /// All of it.
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

/// How often something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// A processor changed its thread.
    pub switches: u64,
    /// A thread was woken.
    pub wakes: u64,
    /// A processor was marked for rescheduling.
    pub marks: u64,
    /// It had been marked already.
    pub duplicate_marks: u64,
    /// Of the marks: of a processor on which the woken thread did not run last, and whose thread has something left of its
    /// allotment (Linux 2.4).
    pub foreign_marks: u64,
    /// A new epoch began (Linux 2.4).
    pub epochs: u64,
    /// A thread ran on another processor than before.
    pub migrations: u64,
    /// A group had used up its quota.
    pub throttles: u64,
    /// A card interrupted a processor to wake somebody.
    pub interrupts: u64,
}
