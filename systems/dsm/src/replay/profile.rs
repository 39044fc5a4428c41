//! The costs of touching shared memory, besides messages and computing.
use foregather_machine::Nanos;

/// Prices of a machine and of a system on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// From the touch until the handler runs, and back.
    pub fault: Nanos,
    /// To look up a page's protection, once for each fault.
    pub inquiry: Nanos,
    /// To open a page, or to allow more.
    pub open: Nanos,
    /// To make a page read-only.
    pub downgrade: Nanos,
    /// To close a page.
    pub close: Nanos,
    /// To find a minipage in its table, at every rank that answers a message about it.
    pub lookup: Nanos,
    /// The rest of a fault's cost: fitted to a whole one.
    pub residual: Nanos,
}

impl Profile {
    /// All costs zero: for counts.
    pub const FREE: Self = Self {
        fault: Nanos::ZERO,
        inquiry: Nanos::ZERO,
        open: Nanos::ZERO,
        downgrade: Nanos::ZERO,
        close: Nanos::ZERO,
        lookup: Nanos::ZERO,
        residual: Nanos::ZERO,
    };

    /// Millipage on Windows NT (Itzkovitz & Schuster 1999, Table 1): all but the residual are its numbers.
    /// The residual is what remains of the 204 us of a read of 128 bytes without these and the messages; the
    /// paper does not say where it goes. (Threads that wake each other through the system, and the handler's
    /// own bookkeeping, would be of that order.)
    pub const MILLIPAGE_1999: Self = Self {
        fault: Nanos::from_us(26),
        inquiry: Nanos::from_us(7),
        open: Nanos::from_us(12),
        downgrade: Nanos::from_us(12),
        close: Nanos::from_us(12),
        lookup: Nanos::from_us(7),
        residual: Nanos::ZERO,
    };

    /// This system with userfaultfd on a virtual machine of 2025, as measured alone: a signal and its return,
    /// then one call.
    pub const USERFAULT_2025: Self = Self {
        fault: Nanos(1_504),
        inquiry: Nanos::ZERO,
        open: Nanos(700),
        downgrade: Nanos(1_115),
        close: Nanos(1_410),
        lookup: Nanos(10),
        residual: Nanos::ZERO,
    };

    /// What a thread pays for each fault before it asks.
    pub(super) fn before(&self) -> Nanos {
        self.fault + self.inquiry + self.residual
    }
}
