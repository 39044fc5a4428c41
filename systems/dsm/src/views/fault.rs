//! A touch of a closed page: its description, and the handler it is reported to.
use super::layout::ViewAddress;
use crate::Access;

/// A thread touched a page that was closed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page of a view, and the byte in it.
    pub place: ViewAddress,
    /// The access that the thread wants.
    pub needs: Access,
    /// The address itself, for messages.
    pub address: usize,
    /// The processor's code, as x86-64 writes it: bit 0, the page was there; bit 1, a write; bit 2, by a
    /// program. 0 if the processor gives none.
    pub code: u64,
    /// The thread's number to the system if another thread makes this call on its behalf; `None` if it makes
    /// it itself.
    pub on_behalf_of: Option<u32>,
}

/// What the thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEnd {
    /// It tries again: the page is open, or was for a moment.
    Retry,
    /// The touch was a mistake: the thread gets what it would have got without this handler.
    NotMine,
}

/// Opens pages when they are touched: the runtime's side of a fault.
pub trait Faults: Send + Sync {
    /// Called on the thread that has faulted, in a signal handler that has interrupted a load or store and
    /// nothing else, or by [`Space::ask`](super::Space::ask). It may wait. Several threads call it at once,
    /// also for one page: the second should find it open, or wait for the first.
    ///
    /// It must touch the privileged view only; a touch of a closed page in here never ends.
    fn fault(&self, fault: &Fault) -> FaultEnd;
}
