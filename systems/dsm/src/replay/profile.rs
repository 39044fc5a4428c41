//! The costs of accessing shared memory, without messages and computing.
use foregather_machine::Nanos;

/// The costs of one system on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// From the access until the handler runs, and back.
    pub fault: Nanos,
    /// Looking up a page's protection, once for each fault.
    pub inquiry: Nanos,
    /// Opening a page, or allowing more access.
    pub open: Nanos,
    /// Making a page read-only.
    pub downgrade: Nanos,
    /// Closing a page.
    pub close: Nanos,
    /// Finding a minipage in its table, on every rank that handles a message about it.
    pub lookup: Nanos,
    /// The rest of a fault's cost, fitted to a complete one.
    pub residual: Nanos,
}

impl Profile {
    /// All costs are zero, for counting.
    pub const FREE: Self = Self {
        fault: Nanos::ZERO,
        inquiry: Nanos::ZERO,
        open: Nanos::ZERO,
        downgrade: Nanos::ZERO,
        close: Nanos::ZERO,
        lookup: Nanos::ZERO,
        residual: Nanos::ZERO,
    };

    /// Millipage on Windows NT (Itzkovitz & Schuster 1999, Table 1): all except the residual are its numbers.
    /// The residual is what remains of the 204 us of a 128-byte read without these and the messages; the
    /// paper does not explain it. (Threads that wake each other through the system, and the handler's own
    /// bookkeeping, would be of that order.)
    pub const MILLIPAGE_1999: Self = Self {
        fault: Nanos::from_us(26),
        inquiry: Nanos::from_us(7),
        open: Nanos::from_us(12),
        downgrade: Nanos::from_us(12),
        close: Nanos::from_us(12),
        lookup: Nanos::from_us(7),
        residual: Nanos::ZERO,
    };

    /// This system with userfaultfd on a virtual machine of 2025, measured on an idle machine: a signal and
    /// its return, then one system call.
    pub const USERFAULT_2025: Self = Self {
        fault: Nanos(1_504),
        inquiry: Nanos::ZERO,
        open: Nanos(700),
        downgrade: Nanos(1_115),
        close: Nanos(1_410),
        lookup: Nanos(10),
        residual: Nanos::ZERO,
    };

    /// Returns the cost of each fault before its request is sent.
    pub(super) fn before(&self) -> Nanos {
        self.fault + self.inquiry + self.residual
    }
}
