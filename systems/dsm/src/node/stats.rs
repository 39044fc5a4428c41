//! Where the time of a thread went (Itzkovitz & Schuster 1999, figure 6).
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};

/// What a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// A copy to read.
    ReadFault,
    /// The only copy, of which it had none.
    WriteFault,
    /// The only copy, where it had one to read.
    Upgrade,
    /// A prefetched copy that was not there yet, or only just.
    Prefetch,
    /// A lock, or a flag.
    Lock,
    /// A barrier.
    Barrier,
}

impl WaitKind {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 6] = [Self::ReadFault, Self::WriteFault, Self::Upgrade, Self::Prefetch, Self::Lock, Self::Barrier];
}

/// How often a thread waited, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    counts: [u64; WaitKind::ALL.len()],
    spans_ns: [u64; WaitKind::ALL.len()],
}

impl Stats {
    /// Counts one wait of `span`.
    pub fn add(&mut self, kind: WaitKind, span: Nanos) {
        self.counts[kind as usize] += 1;
        self.spans_ns[kind as usize] += span.0;
    }

    /// How often a thread waited for `kind`.
    pub fn count(&self, kind: WaitKind) -> u64 {
        self.counts[kind as usize]
    }

    /// How long it waited for `kind` in all.
    pub fn span(&self, kind: WaitKind) -> Nanos {
        Nanos(self.spans_ns[kind as usize])
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for kind in WaitKind::ALL {
            self.counts[kind as usize] += other.count(kind);
            self.spans_ns[kind as usize] += other.span(kind).0;
        }
        self
    }
}
