//! The processor of a lane's owner: a thread that naps while it waits, because MPI does not wake threads.
use crate::process::NAP;
use core::cell::{Cell, RefCell};
use foregather_host::{failure_detector::FailureDetector, run_state::RunState, usage};
use foregather_machine::{CpuId, Error, Nanos, ThreadId, WaitContext};
use foregather_thread::{Guard, Scope, Thread};
use std::sync::Arc;

/// The first nap after an event. Each further nap lasts twice as long, up to [`NAP`]. With long naps from the
/// start, two ranks that answer each other would always nap during the other's spin, which is shorter than a
/// long nap.
const FIRST: Nanos = Nanos::from_us(20);

/// The maximum nap if every sender rings this lane's bell. It is limited because MPI may need to be called
/// even if no frame was sent.
const RUNG_NAP: Nanos = Nanos::from_ms(1);
/// The maximum nap while messages are under way, and the maximum number of consecutive short naps. Both sides
/// of a long message have to call MPI, and no frame of the fabric wakes them.
const SHORT_NAP: Nanos = Nanos::from_us(40);
const SHORT_NAPS: u32 = 200;

/// The processor that waits for the events of a lane. It polls MPI at least every 200 us, or every
/// millisecond if all ranks can wake it.
pub type MpiProcessor = Thread<Napping>;

/// The guard of the waits of a lane's owner: checks for failures and sets the length of naps.
pub struct Napping {
    failure_detector: Option<Arc<FailureDetector>>,
    /// Whether every sender rings this lane's bell.
    pub(crate) is_rung: bool,
    /// The first permanent failure, and whether there has been one.
    fault: RefCell<Option<Error>>,
    failed: Cell<bool>,
    /// The length of the next nap.
    next: Cell<Nanos>,
    /// Whether messages are under way, and the number of short naps since the last event.
    is_under_way: Cell<bool>,
    short_naps: Cell<u32>,
    /// Whether the owner has slept since it last polled MPI.
    pub(crate) has_slept: Cell<bool>,
}

impl Napping {
    /// Creates the processor that waits for a lane. With `is_rung`, every sender rings the bell, so a wait
    /// polls a word. Otherwise a wait polls MPI, which takes so long that no pauses are needed.
    pub(crate) fn processor(failure_detector: Option<Arc<FailureDetector>>, is_rung: bool) -> MpiProcessor {
        let (fault, failed) = (RefCell::default(), Cell::new(false));
        let (is_under_way, short_naps, has_slept) = (Cell::new(false), Cell::new(0), Cell::new(false));
        let next = Cell::new(FIRST);
        let guard = Self { failure_detector, is_rung, fault, failed, next, is_under_way, short_naps, has_slept };
        let processor = Thread::guarded(Scope::Shared, guard);
        if is_rung { processor } else { processor.without_pauses() }
    }

    /// Records an event, so that the next nap is short.
    #[inline]
    pub(crate) fn stir(&self) {
        self.next.set(FIRST);
        self.short_naps.set(0);
    }

    /// Records whether messages are under way.
    #[inline]
    pub(crate) fn set_under_way(&self, is_under_way: bool) {
        self.is_under_way.set(is_under_way);
    }

    /// Returns how long to sleep now, and lengthens the next nap.
    pub(crate) fn next_nap(&self) -> Nanos {
        let nap = self.next.get();
        self.has_slept.set(true);
        if self.is_rung && self.is_under_way.get() && self.short_naps.get() < SHORT_NAPS {
            self.short_naps.set(self.short_naps.get() + 1);
            return nap.min(SHORT_NAP);
        }
        self.next.set(Nanos(2 * nap.0).min(if self.is_rung { RUNG_NAP } else { NAP }));
        nap
    }

    /// Records a permanent failure; only the first one counts.
    #[cold]
    pub(crate) fn fail(&self, error: Error) {
        self.failed.set(true);
        self.fault.borrow_mut().get_or_insert(error);
    }

    /// Returns the permanent failure, if there was one, as an error.
    #[inline]
    pub(crate) fn fault(&self) -> Result<(), Error> {
        if self.failed.get() { self.fault.borrow().clone().map_or(Ok(()), Err) } else { Ok(()) }
    }
}

/// Threads of other processes are not fetched: restoring the affinity mask of such a thread could undo a
/// change that its process has made in the meantime.
impl Guard for Napping {
    /// About the time of a round trip to a neighbour.
    const BRIEF_LOOKS: u32 = 32;

    /// A lost rank is checked first, because MPI's own error may be a consequence of the loss.
    fn check(&self, context: &WaitContext) -> Result<(), Error> {
        self.failure_detector.as_ref().map_or(Ok(()), |failure_detector| failure_detector.check(context))?;
        self.fault()
    }

    fn longest_sleep(&self) -> Nanos {
        self.next_nap()
    }

    fn nap(&self) -> Nanos {
        if self.is_rung { Nanos::ZERO } else { NAP }
    }

    fn running(&self, thread: ThreadId, here: CpuId) -> Option<bool> {
        let known = usage::advances(|| usage::thread_cpu_of(thread));
        known.or_else(|| RunState::of(thread).map(|state| state.is_runnable && state.cpu != here))
    }
}
