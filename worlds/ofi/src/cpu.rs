//! The processor of a lane's owner: a thread's, that sleeps on the network.
use crate::endpoint::Endpoint;
use crate::turn::Turn;
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_host::{clock, failure_detector::FailureDetector};
use foregather_machine::{Affinity, Clock, Costs, Cpu, CpuId, Error, Nanos, Placement, Rank, ThreadId, WaitContext, ready};
use foregather_thread::{Thread, Word};
use std::sync::Arc;

/// The longest sleep on the network: nobody wakes who sleeps there when another thread rings the bell, or a rank is lost.
const SLEEP: Nanos = Nanos::from_ms(50);
/// The longest sleep where the network has nothing to sleep on: then frames come only when somebody looks.
const NAP: Nanos = Nanos::from_us(200);
/// Looks in a blink: about as long as it takes to ask something of a neighbour and be answered.
const BLINK_LOOKS: u32 = 48;
/// So long after a failed send a peer may still turn out to have left in order: its last frame may be on its way.
const GRACE: Nanos = Nanos::from_ms(200);

/// The processor that waits for what comes to a lane. It sleeps on the lane's completions, not on a futex, when it waits on the
/// lane's own bell; another thread that rings that bell is noticed after 50 ms at most.
pub struct Processor {
    thread: Thread,
    failure_detector: Option<Arc<FailureDetector>>,
    pub(crate) bell: Word,
    /// Whose turn the lane is, and all that follows here.
    pub(crate) turn: Turn,
    pub(crate) endpoint: Endpoint,
    /// What went wrong for good.
    fault: RefCell<Option<Error>>,
    /// To whom something could not be sent, and when that was noticed.
    suspect: Cell<Option<(Rank, Nanos)>>,
}

impl Processor {
    pub(crate) fn new(endpoint: Endpoint, vigil: Option<Arc<FailureDetector>>) -> Self {
        Self {
            // A look at the network is a system call: pause enough.
            thread: Thread::current().without_pauses(),
            failure_detector: vigil,
            bell: Word::default(),
            turn: Turn::default(),
            endpoint,
            fault: RefCell::default(),
            suspect: Cell::default(),
        }
    }

    /// Notes what went wrong for good; only the first thing counts.
    #[cold]
    pub(crate) fn fail(&self, error: Error) {
        self.fault.borrow_mut().get_or_insert(error);
    }

    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.borrow().clone()
    }

    /// For an owner that is about to sleep: it looks once more.
    pub(crate) fn ring(&self) {
        self.thread.fetch_add(&self.bell, 1);
    }

    /// Something could not be sent there.
    #[cold]
    pub(crate) fn suspect(&self, rank: Rank) {
        if self.suspect.get().is_none() {
            self.suspect.set(Some((rank, clock::now())));
        }
    }

    /// It has left in order.
    pub(crate) fn absolve(&self, rank: Rank) {
        if self.suspect.get().is_some_and(|(suspect, _)| suspect == rank) {
            self.suspect.set(None);
        }
    }

    /// What stands in the way of every further wait and frame.
    pub(crate) fn trouble(&self, why: &WaitContext) -> Result<(), Error> {
        if let Some((rank, since)) = self.suspect.get()
            && clock::now() - since > GRACE
        {
            self.fail(Error::peer_lost(rank, since, why));
        }
        if let Some(error) = self.fault() {
            return Err(error);
        }
        self.failure_detector.as_ref().map_or(Ok(()), |vigil| vigil.check(why))
    }
}

impl Clock for Processor {
    #[inline]
    fn now(&self) -> Nanos {
        self.thread.now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.thread.delay(span)
    }
}

/// As between threads of this process; nothing is known of others.
impl Placement for Processor {
    #[inline]
    fn place(&self) -> Option<CpuId> {
        self.thread.place()
    }
    fn identity(&self) -> Option<ThreadId> {
        self.thread.identity()
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        self.thread.running(thread)
    }
    fn affinity(&self) -> Option<Affinity> {
        self.thread.affinity()
    }
    fn allows(&self, cpu: CpuId) -> bool {
        self.thread.allows(cpu)
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        self.thread.idle(cpu)
    }
    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool> {
        self.thread.move_to(cpu)
    }
    fn preemptions(&self) -> Option<u64> {
        self.thread.preemptions()
    }
    fn costs(&self) -> Costs {
        self.thread.costs()
    }
}

impl Cpu for Processor {
    type Word = Word;

    #[inline]
    fn load(&self, word: &Word) -> u32 {
        self.thread.load(word)
    }
    #[inline]
    fn store(&self, word: &Word, value: u32) {
        self.thread.store(word, value);
    }
    #[inline]
    fn publish(&self, word: &Word, value: u32) {
        self.thread.publish(word, value);
    }
    #[inline]
    fn fetch_add(&self, word: &Word, n: u32) -> u32 {
        self.thread.fetch_add(word, n)
    }
    #[inline]
    fn compare_exchange(&self, word: &Word, expected: u32, new: u32) -> bool {
        self.thread.compare_exchange(word, expected, new)
    }
    fn poison(&self, word: &Word) {
        self.thread.poison(word);
    }

    #[inline]
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        (0..BLINK_LOOKS).find_map(|_| probe())
    }
    #[inline]
    fn spin_for<T>(
        &self,
        on: &Word,
        budget: Nanos,
        probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = (Option<T>, Nanos)> {
        self.thread.spin_for(on, budget, probe)
    }
    #[inline]
    fn run_inline<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        self.thread.run_inline(wait)
    }
    #[inline]
    fn yield_now(&self) -> impl Future<Output = ()> {
        self.thread.yield_now()
    }
    #[inline]
    fn prepare_park(&self, on: &Word) -> u32 {
        self.thread.prepare_park(on)
    }
    fn park(&self, on: &Word, armed: u32, until: Nanos) -> impl Future<Output = ()> {
        if core::ptr::eq(on, &raw const self.bell) && self.endpoint.can_sleep() {
            // Rung since it was armed? Then this look at it differs.
            let _turn = self.turn.of_owner();
            if self.thread.prepare_park(on) == armed {
                self.endpoint.rest(until.min(self.now() + SLEEP) - self.now());
            }
        } else {
            let longest = if self.endpoint.can_sleep() { SLEEP } else { NAP };
            foregather_machine::block_on(self.thread.park(on, armed, until.min(self.now() + longest)));
        }
        ready(())
    }

    #[inline]
    fn max_spin(&self) -> Nanos {
        self.thread.max_spin()
    }
    fn check(&self, on: &Word, why: &WaitContext) -> Result<(), Error> {
        self.thread.check(on, why)?;
        let _turn = self.turn.of_owner();
        self.trouble(why)
    }
}
