//! This thread's processor: it spins, yields and sleeps inside the verb, so every future is ready at once.
use crate::{Guard, Word};
use core::cell::Cell;
use core::future::Future;
use core::sync::atomic::Ordering::AcqRel;
use foregather_host::{clock, futex::Scope, pause::pause, sched};
use foregather_machine::{Cause, Clock, CounterOf, Error, Nanos, Park, WaitContext, Words, block_on, ready};

/// Looks between two readings of the clock.
const LOOKS: u32 = 8;
/// A longer gap between two readings means that another thread had the processor: it is not this spinner's
/// time.
const PREEMPTED: Nanos = Nanos::from_us(100);
/// The last stretch of a delay, waited out without pauses, each of which may take a hundred nanoseconds.
const LAST_STRETCH: Nanos = Nanos(500);
/// The longest spin under a real-time class, where no other thread gets the processor meanwhile.
const REALTIME_PATIENCE: Nanos = Nanos::from_us(50);

thread_local! {
    /// For how long this thread has worked in its looks, since its spin last read the clock.
    static WORK: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
}

/// Records that a look of this thread's wait took that long because it worked for another member, such as
/// copying memory that a peer reads. Without this record the time counts as a preemption.
pub fn record_work(span: Nanos) {
    WORK.set(WORK.get() + span);
}

/// The processor of the thread that made it, and the guard of its waits.
#[derive(Clone, Copy, Debug)]
pub struct Thread<G = ()> {
    pub(crate) scope: Scope,
    max_spin: Nanos,
    pauses: bool,
    pub(crate) guard: G,
}

impl Thread {
    /// For words of this process. It asks once for the scheduling class: under FIFO and RR every spin will be
    /// bounded.
    pub fn current() -> Self {
        Self::guarded(Scope::Private, ())
    }

    /// For words that other processes map too.
    pub fn shared() -> Self {
        Self::guarded(Scope::Shared, ())
    }
}

impl<G> Thread<G> {
    /// For words of that scope, watched over by `guard`.
    pub fn guarded(scope: Scope, guard: G) -> Self {
        let max_spin = if sched::is_realtime() { REALTIME_PATIENCE } else { Nanos::MAX };
        Self { scope, max_spin, pauses: true, guard }
    }

    /// The guard of its waits.
    #[inline]
    pub fn guard(&self) -> &G {
        &self.guard
    }

    /// Spins without the pause instruction: a hot loop, for comparison.
    #[must_use]
    pub fn without_pauses(self) -> Self {
        Self { pauses: false, ..self }
    }

    /// Returns whether it was created under a real-time class.
    pub(crate) fn is_realtime(&self) -> bool {
        self.max_spin < Nanos::MAX
    }

    #[inline]
    fn look<T>(&self, looks: u32, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        for _ in 0..looks {
            let found = probe();
            if found.is_some() {
                return found;
            }
            if self.pauses {
                pause();
            }
        }
        None
    }

    #[inline]
    fn spin_here<T>(&self, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        let (mut last, mut used) = (clock::now(), Nanos::ZERO);
        WORK.take();
        loop {
            let found = self.look(LOOKS, &mut probe);
            let now = clock::now();
            let work = WORK.take().min(now - last);
            let waited = now - last - work;
            used += if waited > PREEMPTED { work } else { work + waited };
            last = now;
            if found.is_some() || used >= budget {
                return (found, used);
            }
        }
    }
}

/// Computes from `now` until the clock shows `moment`; returns the last reading.
#[inline]
fn compute_until(moment: Nanos, mut now: Nanos) -> Nanos {
    while now + LAST_STRETCH < moment {
        pause();
        now = clock::now();
    }
    while now < moment {
        now = clock::now();
    }
    now
}

impl<G> Clock for Thread<G> {
    #[inline]
    fn now(&self) -> Nanos {
        clock::now()
    }

    #[inline]
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        if span > Nanos::ZERO {
            compute_until(clock::now() + span, clock::now());
        }
        ready(())
    }

    #[inline]
    fn now_in_order(&self) -> Nanos {
        clock::now_in_order()
    }

    /// Returns the reading that ends it: adding up spans between readings would add up the readings' own
    /// cost.
    #[inline]
    fn delay_until(&self, moment: Nanos) -> impl Future<Output = Nanos> {
        ready(compute_until(moment, clock::now_in_order()))
    }
}

impl<G> Words for Thread<G> {
    type Word = Word;

    #[inline]
    fn load(&self, word: &Word) -> u32 {
        word.load()
    }
    #[inline]
    fn store(&self, word: &Word, value: u32) {
        word.store(value);
    }
    #[inline]
    fn publish(&self, word: &Word, value: u32) {
        word.publish(value, self.scope);
    }
    #[inline]
    fn fetch_add(&self, word: &Word, n: u32) -> u32 {
        word.fetch_add(n, self.scope)
    }
    #[inline]
    fn ring(&self, word: &Word) {
        word.ring(self.scope);
    }
    #[inline]
    fn ring_each(&self, words: &[(&Word, u32)]) {
        Word::ring_each(words, self.scope);
    }
    fn add_last(&self, word: &Word, n: u32) {
        word.add_last(n, self.scope);
    }
    #[inline]
    fn compare_exchange(&self, word: &Word, expected: u32, new: u32) -> Result<u32, u32> {
        word.compare_exchange(expected, new, self.scope)
    }
    fn poison(&self, word: &Word) {
        word.poison(self.scope);
    }
    #[inline]
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        counter.fetch_add(1, AcqRel)
    }
}

impl<G: Guard> Park for Thread<G> {
    #[inline]
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.look(G::BRIEF_LOOKS, probe)
    }
    #[inline]
    fn spin_for<T>(&self, _: &Word, budget: Nanos, probe: impl FnMut() -> Option<T>) -> impl Future<Output = (Option<T>, Nanos)> {
        ready(self.spin_here(budget, probe))
    }
    #[inline]
    fn yield_now(&self) -> impl Future<Output = ()> {
        std::thread::yield_now();
        ready(())
    }
    #[inline]
    fn prepare_park(&self, on: &Word) -> u32 {
        on.prepare_park()
    }
    #[inline]
    fn park(&self, on: &Word, prepared: u32, until: Nanos) -> impl Future<Output = ()> {
        let longest = self.guard.longest_sleep();
        let until = if longest < Nanos::MAX { until.min(clock::now() + longest) } else { until };
        if !self.guard.sleep(on, prepared, until) {
            let timeout = (until < Nanos::MAX).then(|| until - clock::now());
            on.park(prepared, timeout, self.scope);
        }
        ready(())
    }

    #[inline(always)]
    fn run_inline<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        ready(block_on(wait))
    }

    #[inline]
    fn max_spin(&self) -> Nanos {
        self.max_spin
    }
    #[inline]
    fn check(&self, on: &Word, context: &WaitContext) -> Result<(), Error> {
        if on.is_poisoned() {
            return Err(Error::from(Cause::Poisoned { by: None }));
        }
        if context.deadline < Nanos::MAX {
            let now = clock::now();
            if now >= context.deadline {
                return Err(Error::timed_out(context, now));
            }
        }
        self.guard.check(context)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns the spin time of a wait whose first look lasts longer than a preemption.
    fn spun_through_a_long_look(records: bool) -> Nanos {
        let (cpu, word) = (Thread::current(), Word::default());
        let mut looks = 0;
        let probe = || {
            looks += 1;
            if looks == 1 {
                let began = clock::now();
                compute_until(began + PREEMPTED * 3, began);
                if records {
                    record_work(PREEMPTED * 3);
                }
            }
            (looks == 2).then_some(())
        };
        let (found, used) = block_on(cpu.spin_for(&word, Nanos::from_ms(100), probe));
        assert_eq!(found, Some(()));
        used
    }

    #[test]
    fn work_in_a_look_counts_as_spin_time_and_any_other_long_gap_as_a_preemption() {
        assert!(spun_through_a_long_look(true) >= PREEMPTED * 3);
        assert_eq!(spun_through_a_long_look(false), Nanos::ZERO);
        // Work before a wait is not that wait's.
        record_work(PREEMPTED * 9);
        assert_eq!(spun_through_a_long_look(false), Nanos::ZERO);
    }
}
