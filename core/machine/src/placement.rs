//! Where threads run, and whether they do: what a waiter may ask about others, and do about it, beyond its own processor.
//!
//! Every question may go unanswered (`None`) and every action may be refused (`false`): a waiter must come to its end with
//! fewer signals, too.
use crate::{Costs, CpuId, Nanos, ready};

/// The number by which a thread can be asked after in its world: never 0, and it fits into a word's value.
pub type ThreadId = u32;

/// On which processors a thread may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// Threads that may use the same processors have the same one. It fits into a word's value and is never 0.
    pub fingerprint: u32,
    /// How many processors' worth of time that is: a quota may leave less than the processors.
    pub width: u32,
    /// One more than the highest processor's number.
    pub beyond: CpuId,
}

/// What can be told and done about where threads run.
pub trait Placement {
    /// Where this thread runs. Asked in every wait, so it must be next to free.
    fn place(&self) -> Option<CpuId> {
        None
    }
    /// This thread, for others to ask after.
    fn identity(&self) -> Option<ThreadId> {
        None
    }
    /// Does that thread hold a processor now? May take a microsecond or two.
    fn running(&self, thread: ThreadId) -> Option<bool> {
        let _ = thread;
        None
    }
    /// Where this thread may run; `None` if it must not be moved.
    fn affinity(&self) -> Option<Affinity> {
        None
    }
    /// May this thread run there?
    fn allows(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }
    /// Does that processor have nothing better to do than to answer? The first call sends a scout: `Some(false)` means that it has
    /// not come back yet. Nobody on that processor is disturbed.
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        let _ = cpu;
        None
    }
    /// Moves this thread there, and leaves it as free to be moved as it was.
    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool> {
        let _ = cpu;
        ready(false)
    }
    /// Fetches a thread that is ready to run, but does not, to this processor, hands it over, and leaves that thread as free to
    /// be moved as it was.
    fn pull(&self, thread: ThreadId) -> impl Future<Output = bool> {
        let _ = thread;
        ready(false)
    }
    /// Keeps this thread off a processor, in place of the one before, until `None` frees it again; to be asked before it sleeps, since
    /// some kernels wake a thread where its waker runs. Is it kept off?
    fn keep_off(&self, cpu: Option<CpuId>) -> bool {
        let _ = cpu;
        false
    }
    /// For how long this thread has been ready to run while others had its processor, ever.
    fn run_queue_wait(&self) -> Option<Nanos> {
        None
    }
    /// What switching costs on this machine.
    fn costs(&self) -> Costs {
        Costs::TYPICAL
    }
}
