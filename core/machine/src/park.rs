//! What a thread may do with its processor while it waits.
use crate::{Clock, Error, Nanos, WaitContext, Words};

/// The verbs of a waiting thread (Guignon 2000 §2.1; Tsafrir & Feitelson 2002 §2).
///
/// Waiting is always *on a word*: a probe may look at anything, but the thread that makes it succeed changes
/// that word. So the change wakes a sleeper, and a simulated store polls the word's own waiters only.
///
/// There is no lost wake-up between `prepare_park` and the change of the word: a change that the caller of
/// `prepare_park` did not see makes `park` return at once.
pub trait Park: Words + Clock {
    /// Looks for as long as this world can without time passing that must be accounted for: about half a
    /// microsecond of pauses on hardware, once in virtual time. A plain verb, so that the shortest waits cost
    /// no future.
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T>;
    /// Keeps the processor until `probe` finds something or `budget` of its own processor time is over (a
    /// preemption does not count). Returns the probe's result and the processor time used. A probe that finds
    /// nothing changes nothing.
    async fn spin_for<T>(&self, on: &Self::Word, budget: Nanos, probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos);
    /// Offers the processor to another runnable thread. Always costs time.
    async fn yield_now(&self);
    /// Announces a sleeper on the word. Probe once more, then pass the result to [`Park::park`] or forget it.
    fn prepare_park(&self, on: &Self::Word) -> u32;
    /// Gives the processor away until the word changes from what `prepare_park` returned, `until` passes, or
    /// spuriously.
    async fn park(&self, on: &Self::Word, prepared: u32, until: Nanos);

    /// The longest that one wait may keep the processor: bounded under a real-time class, where it would
    /// starve the rest.
    fn max_spin(&self) -> Nanos {
        Nanos::MAX
    }
    /// Runs a composed wait as this world runs its leaves. Where waiting happens in place that is here and
    /// now, so no state machine contains another one, which no optimiser takes apart. Acts when called: await
    /// it.
    fn run_inline<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        wait
    }
    /// Returns whether a rare event happens at this fault point now. On hardware this is always false and
    /// costs nothing; a simulation decides by its seed. Code on cold paths calls this, and if it returns
    /// true, behaves as if the event had happened by itself: it finds no room, is late, or checks again. The
    /// name says what happens: `"link: no room"`.
    #[inline(always)]
    fn sometimes(&self, point: &'static str) -> bool {
        let _ = point;
        false
    }
    /// Checks whether the wait can still succeed.
    ///
    /// # Errors
    /// The word is poisoned, the deadline has passed, or a peer is lost.
    fn check(&self, on: &Self::Word, context: &WaitContext) -> Result<(), Error>;
}
