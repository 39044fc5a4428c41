//! How a thread's time was spent (Itzkovitz & Schuster 1999, figure 6).
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};

/// What a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// A read-only copy.
    ReadFault,
    /// The exclusive copy, without having any copy.
    WriteFault,
    /// The exclusive copy, while having a read-only one.
    Upgrade,
    /// A prefetched copy that had not arrived yet, or only just.
    Prefetch,
    /// A lock, or a flag.
    Lock,
    /// A barrier.
    Barrier,
}

impl WaitKind {
    /// All kinds, in the order of a report.
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

    /// Returns how often a thread waited for `kind`.
    pub fn count(&self, kind: WaitKind) -> u64 {
        self.counts[kind as usize]
    }

    /// Returns how long it waited for `kind` in total.
    pub fn span(&self, kind: WaitKind) -> Nanos {
        Nanos(self.spans_ns[kind as usize])
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for kind in WaitKind::ALL {
            self.counts[kind as usize] += other.count(kind);
            self.spans_ns[kind as usize] += other.span(kind).0;
        }
        self
    }
}
