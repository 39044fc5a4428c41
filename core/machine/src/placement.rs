//! Where threads run, and whether they do: what a waiter may ask about other threads, and do about them.
//!
//! Every question may go unanswered (`None`) and every action may be refused (`false`): a waiter must also
//! finish with fewer signals.
use crate::{Costs, CpuId, Nanos, ready};

/// The number by which other threads ask after a thread in its world: never 0, and it fits into a word's
/// value.
pub type ThreadId = u32;

/// On which processors a thread may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// Equal for threads that may use the same processors. It fits into a word's value and is never 0.
    pub fingerprint: u32,
    /// How many processors' worth of time the thread may use: a quota may leave less than the processors.
    pub width: u32,
    /// One more than the highest processor's number.
    pub beyond: CpuId,
}

/// What a waiter can ask and do about where threads run.
pub trait Placement {
    /// Where this thread runs. Asked in every wait, so it must be next to free.
    fn place(&self) -> Option<CpuId> {
        None
    }
    /// This thread's number, by which others ask after it.
    fn identity(&self) -> Option<ThreadId> {
        None
    }
    /// Returns whether that thread is running now. The call may take 1 to 2 us.
    fn running(&self, thread: ThreadId) -> Option<bool> {
        let _ = thread;
        None
    }
    /// Where this thread may run; `None` if it must not be moved.
    fn affinity(&self) -> Option<Affinity> {
        None
    }
    /// Returns whether this thread may run on `cpu`.
    fn allows(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }
    /// Returns whether a scout (an idle-class probe thread) has come back from `cpu`, which shows that the
    /// processor is idle. The first call sends the scout; `Some(false)` means that it has not come back yet.
    /// The scout does not delay other threads on that processor.
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        let _ = cpu;
        None
    }
    /// Moves this thread to `cpu`, and leaves it as free to be moved as it was.
    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool>
    where
        Self: Sized,
    {
        let _ = cpu;
        ready(false)
    }
    /// Fetches a thread that is ready but does not run to this processor, hands the processor over, and
    /// leaves that thread as free to be moved as it was.
    fn pull(&self, thread: ThreadId) -> impl Future<Output = bool>
    where
        Self: Sized,
    {
        let _ = thread;
        ready(false)
    }
    /// Keeps this thread off a processor, in place of the one before, until `None` frees it again. Ask for it
    /// before the thread sleeps, since some kernels wake a thread where its waker runs. Returns whether it is
    /// kept off.
    fn keep_off(&self, cpu: Option<CpuId>) -> bool {
        let _ = cpu;
        false
    }
    /// For how long, since its start, this thread has been ready to run while others had its processor.
    fn run_queue_wait(&self) -> Option<Nanos> {
        None
    }
    /// What threads of this process have noted of a processor, for each other; 0: nothing.
    fn note_of(&self, cpu: CpuId) -> u32 {
        let _ = cpu;
        0
    }
    /// Notes that word of a processor, for all threads of this process.
    fn set_note(&self, cpu: CpuId, word: u32) {
        let _ = (cpu, word);
    }
    /// What switching costs on this machine.
    fn costs(&self) -> Costs {
        Costs::TYPICAL
    }
}
