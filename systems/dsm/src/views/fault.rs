//! An access to a closed page: its description, and the handler that gets it.
use super::layout::ViewAddress;
use crate::Access;

/// A thread accessed a page that was closed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page of a view, and the byte in it.
    pub place: ViewAddress,
    /// The access that the thread wants.
    pub needs: Access,
    /// The address itself, for messages.
    pub address: usize,
    /// The processor's error code, in the format of x86-64: bit 0, the page was present; bit 1, a write; bit
    /// 2, from user mode. 0 if the processor provides none.
    pub code: u64,
    /// The thread's TID, if another thread makes this call on its behalf; `None` if it makes it itself.
    pub on_behalf_of: Option<u32>,
}

/// What the thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEnd {
    /// It retries: the page is open, or was for a moment.
    Retry,
    /// The access was a mistake: the thread gets the signal as if this handler did not exist.
    NotMine,
}

/// Opens pages when they are accessed: the runtime's side of a fault.
pub trait Faults: Send + Sync {
    /// Called on the thread that has faulted, in a signal handler that has interrupted only a load or store,
    /// or by [`Space::ask`](super::Space::ask). It may wait. Several threads may call it at once, even for
    /// the same page: the second must find the page open or wait for the first.
    ///
    /// It must use only the privileged view; an access to a closed page in here never ends.
    fn fault(&self, fault: &Fault) -> FaultEnd;
}
