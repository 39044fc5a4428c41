//! The processor's verbs: what a thread may do about a word it waits on.
use crate::{Clock, Error, Nanos, Placement, WaitContext};

/// A processor's number, as the operating system (or the simulated machine) counts them.
pub type CpuId = u32;

/// The values a word can hold: those of 30 bits.
pub const VALUE_MASK: u32 = (1 << 30) - 1;

/// What a thread may do with its processor while it waits (Guignon 2000 §2.1; Tsafrir & Feitelson 2002 §2).
///
/// Waiting is always *on a word*: a probe may look at anything, but whoever makes it succeed changes that word, so a
/// sleeper is woken by the change and a simulated store re-polls only the word's own waiters.
///
/// # Ordering
/// `load` acquires, `store`, `note` and `poison` release, `add` and `exchange` do both, the latter even in vain an acquire. Between `arm` and the change of the word
/// there is no lost wake-up: a change that `arm`'s caller did not see makes `park` return at once.
pub trait Cpu: Clock + Placement {
    /// 30 bits in memory on which members wait; starts at 0. Values wrap: compare them for equality or by distance.
    type Word: Default;

    /// The word's value.
    fn load(&self, word: &Self::Word) -> u32;
    /// A plain store to a word on which nobody ever parks: cheaper than [`Cpu::publish`].
    fn store(&self, word: &Self::Word, value: u32);
    /// Publishes `value` and wakes whoever sleeps on the word; no system call if nobody does.
    fn publish(&self, word: &Self::Word, value: u32);
    /// Adds `n`, wakes like [`Cpu::publish`], and returns the value before.
    fn fetch_add(&self, word: &Self::Word, n: u32) -> u32;
    /// If the word holds `expected`, publishes `new` like [`Cpu::publish`]; did it? Of several that try, one alone succeeds.
    fn compare_exchange(&self, word: &Self::Word, expected: u32, new: u32) -> bool;
    /// Marks the word for ever and wakes its sleepers: waits on it that are not satisfied yet fail in [`Cpu::check`].
    fn poison(&self, word: &Self::Word);

    /// Looks for as long as this world can without letting time pass that anybody would have to account for: on hardware
    /// about half a microsecond of pauses, in virtual time once. A plain verb, so that the shortest waits cost no future.
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T>;
    /// Keeps the processor until `probe` finds something or `budget` of its own processor time is over (a preemption
    /// does not count). Returns what was found and the processor time used. A probe that finds nothing changes nothing.
    async fn spin_for<T>(&self, on: &Self::Word, budget: Nanos, probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos);
    /// Offers the processor to another runnable thread. Always costs time.
    async fn yield_now(&self);
    /// Announces a sleeper on the word. Probe once more, then pass the result to [`Cpu::park`] or forget it.
    fn prepare_park(&self, on: &Self::Word) -> u32;
    /// Gives the processor away until the word changes from what `arm` returned, `until` passes, or spuriously.
    async fn park(&self, on: &Self::Word, armed: u32, until: Nanos);

    /// The longest that one wait may keep the processor: bounded under a real-time class, where it would starve the rest.
    fn max_spin(&self) -> Nanos {
        Nanos::MAX
    }
    /// Runs a composed wait as this world runs its leaves: where waiting happens in place, here and now, so that no
    /// state machine contains another one, which no optimiser takes apart. Acts when called: await it.
    fn run_inline<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        wait
    }
    /// Can the wait still succeed: is the word poisoned, the deadline passed, the peer lost?
    fn check(&self, on: &Self::Word, why: &WaitContext) -> Result<(), Error>;
}
