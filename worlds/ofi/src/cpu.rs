//! The processor of a lane's owner: a thread's, that sleeps on the network.
use crate::endpoint::ActiveEndpoint;
use crate::turn::Turn;
use core::cell::{Cell, RefCell};
use foregather_host::{clock, failure_detector::FailureDetector};
use foregather_machine::{Error, Nanos, Rank, WaitContext};
use foregather_thread::{Guard, Scope, Thread, Word};
use std::sync::Arc;

/// The longest sleep on the network: neither a thread that rings the bell nor the loss of a rank wakes a
/// thread that sleeps there.
const SLEEP: Nanos = Nanos::from_ms(50);
/// The longest sleep where the network has no descriptor: then frames come only when a thread looks.
const NAP: Nanos = Nanos::from_us(200);
/// For this long after a failed send a peer may still turn out to have left in order: its last frame may be
/// on its way.
const GRACE: Nanos = Nanos::from_ms(200);

/// The processor that waits for the events of a lane. When it waits on the lane's own bell it sleeps on the
/// lane's completions, not on a futex; it notices another thread that rings that bell after 50 ms at most.
pub type Processor = Thread<Tended>;

/// A lane, as its owner's waits see it.
pub struct Tended {
    failure_detector: Option<Arc<FailureDetector>>,
    pub(crate) bell: Word,
    /// The turn at the lane, which guards all that follows here.
    pub(crate) turn: Turn,
    pub(crate) endpoint: ActiveEndpoint,
    /// The first permanent failure.
    fault: RefCell<Option<Error>>,
    /// The rank to which a send failed, and when that was noticed.
    suspect: Cell<Option<(Rank, Nanos)>>,
}

impl Tended {
    pub(crate) fn new(endpoint: ActiveEndpoint, failure_detector: Option<Arc<FailureDetector>>) -> Self {
        Self {
            failure_detector,
            bell: Word::default(),
            turn: Turn::default(),
            endpoint,
            fault: RefCell::default(),
            suspect: Cell::default(),
        }
    }

    /// The processor that waits for the lane. A look at the network is a system call: that is pause enough.
    pub(crate) fn processor(self) -> Processor {
        Thread::guarded(Scope::Private, self).without_pauses()
    }

    /// Records a permanent failure; only the first one counts.
    #[cold]
    pub(crate) fn fail(&self, error: Error) {
        self.fault.borrow_mut().get_or_insert(error);
    }

    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.borrow().clone()
    }

    /// Returns whether no wait can expect frames any more, because of a permanent failure or a lost rank.
    pub(crate) fn is_over(&self) -> bool {
        self.fault.borrow().is_some() || self.failure_detector.as_ref().is_some_and(|vigil| vigil.lost().is_some())
    }

    /// For an owner that is about to sleep: it looks once more.
    pub(crate) fn ring(&self) {
        self.bell.fetch_add(1, Scope::Private);
    }

    /// A send to `rank` has failed.
    #[cold]
    pub(crate) fn suspect(&self, rank: Rank) {
        if self.suspect.get().is_none() {
            self.suspect.set(Some((rank, clock::now())));
        }
    }

    /// The rank has left in order.
    pub(crate) fn absolve(&self, rank: Rank) {
        if self.suspect.get().is_some_and(|(suspect, _)| suspect == rank) {
            self.suspect.set(None);
        }
    }

    /// The error that ends every further wait and frame, if there is one.
    pub(crate) fn trouble(&self, why: &WaitContext) -> Result<(), Error> {
        if let Some((rank, since)) = self.suspect.get()
            && clock::now() - since > GRACE
        {
            self.fail(Error::peer_lost(rank, since, why));
        }
        if let Some(error) = self.fault() {
            return Err(error);
        }
        self.failure_detector.as_ref().map_or(Ok(()), |failure_detector| failure_detector.check(why))
    }
}

/// Nothing is known here of other processes' threads, and none is fetched.
impl Guard for Tended {
    /// About as long as it takes to ask a neighbour and get its answer.
    const BRIEF_LOOKS: u32 = 48;

    fn check(&self, context: &WaitContext) -> Result<(), Error> {
        let _turn = self.turn.of_owner();
        self.trouble(context)
    }

    fn longest_sleep(&self) -> Nanos {
        if self.endpoint.can_sleep() { SLEEP } else { NAP }
    }

    fn sleep(&self, on: &Word, prepared: u32, until: Nanos) -> bool {
        let on_network = core::ptr::eq(on, &raw const self.bell) && self.endpoint.can_sleep();
        if on_network {
            let _turn = self.turn.of_owner();
            // Was the bell rung since then? Then this look at it differs.
            if on.prepare_park() == prepared {
                self.endpoint.rest(until - clock::now());
            }
        }
        on_network
    }
}
