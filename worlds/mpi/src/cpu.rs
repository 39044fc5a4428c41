//! The processor of a lane's owner: a thread's, that naps, since MPI wakes no thread.
use crate::process::NAP;
use core::cell::{Cell, RefCell};
use foregather_host::failure_detector::FailureDetector;
use foregather_machine::{Error, Nanos, WaitContext};
use foregather_thread::{Guard, Scope, Thread, Word};
use std::sync::Arc;

/// The first nap after an event. Each further one lasts twice as long, up to [`NAP`]: two ranks that answer
/// each other would otherwise sleep through each other's spins, which are shorter than a long nap, for ever.
const FIRST: Nanos = Nanos::from_us(20);

/// The processor that waits for the events of a lane: it looks at least every 200 us.
pub type MpiProcessor = Thread<Napping>;

/// A lane, as its owner's waits see it.
pub struct Napping {
    failure_detector: Option<Arc<FailureDetector>>,
    pub(crate) bell: Word,
    /// The first permanent failure, and whether there was one.
    fault: RefCell<Option<Error>>,
    failed: Cell<bool>,
    /// How long the next nap lasts.
    next: Cell<Nanos>,
}

impl Napping {
    /// The processor that waits for a lane. A look at MPI is pause enough.
    pub(crate) fn processor(failure_detector: Option<Arc<FailureDetector>>) -> MpiProcessor {
        let (bell, fault, failed) = (Word::default(), RefCell::default(), Cell::new(false));
        let guard = Self { failure_detector, bell, fault, failed, next: Cell::new(FIRST) };
        Thread::guarded(Scope::Private, guard).without_pauses()
    }

    /// Something has happened: the next nap is a short one.
    #[inline]
    pub(crate) fn stir(&self) {
        self.next.set(FIRST);
    }

    /// How long to sleep now.
    pub(crate) fn next_nap(&self) -> Nanos {
        let nap = self.next.get();
        self.next.set(Nanos(2 * nap.0).min(NAP));
        nap
    }

    /// Records a permanent failure; only the first one counts.
    #[cold]
    pub(crate) fn fail(&self, error: Error) {
        self.failed.set(true);
        self.fault.borrow_mut().get_or_insert(error);
    }

    /// The permanent failure, if there was one.
    #[inline]
    pub(crate) fn fault(&self) -> Result<(), Error> {
        if self.failed.get() { self.fault.borrow().clone().map_or(Ok(()), Err) } else { Ok(()) }
    }
}

/// Nothing is known here of other processes' threads, and none is fetched.
impl Guard for Napping {
    /// About as long as it takes to ask a neighbour and get its answer.
    const BRIEF_LOOKS: u32 = 32;

    /// A lost rank comes first: MPI's own error may follow from it.
    fn check(&self, context: &WaitContext) -> Result<(), Error> {
        self.failure_detector.as_ref().map_or(Ok(()), |failure_detector| failure_detector.check(context))?;
        self.fault()
    }

    fn longest_sleep(&self) -> Nanos {
        self.next_nap()
    }

    fn nap(&self) -> Nanos {
        NAP
    }
}
