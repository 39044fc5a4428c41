//! The interface of a waiting policy. A policy decides how a thread uses its processor after the first check
//! has failed.
//!
//! Each policy is a [`Strategy`] in its own file. [`Waiter::wait`](crate::Waiter::wait) asks the strategy for
//! a [`Step`], performs it, and passes the effect back. The waiter itself handles the event, poisoning,
//! deadlines and lost peers.
use crate::{Account, Waited};
use foregather_machine::{CpuId, Nanos, Placement, Rank, ThreadId};

/// What a waiting thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Spin for at most this much CPU time.
    Spin(Nanos),
    /// Yield the processor to another runnable thread.
    Yield,
    /// Check whether that rank is running.
    Ask(Rank),
    /// Send a scout (an idle-class probe thread) to that processor, or check whether it is back.
    Scout(CpuId),
    /// Move to that processor. The strategy must have taken the right to move ([`Surroundings::begin_move`]);
    /// the waiter releases it afterwards.
    Move(CpuId),
    /// Fetch that thread to this processor and hand the processor over to it.
    Pull(ThreadId),
    /// Sleep until that time, or until the word changes.
    Doze(Nanos),
    /// Sleep until the word changes; the last step of a wait.
    Park,
}

/// The effect of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Spun for `used` of CPU time, in `span` of elapsed time: the difference was a preemption.
    Spun {
        /// CPU time.
        used: Nanos,
        /// Elapsed time.
        span: Nanos,
    },
    /// The yield returned after this time.
    Yielded(Nanos),
    /// Whether the rank is running; `None` if the world cannot tell.
    Asked(Option<bool>),
    /// Whether the scout has come back from an idle processor; `None` if there is no scout to send.
    Scouted(Option<bool>),
    /// Whether the thread was moved.
    Moved(bool),
    /// Whether the other thread was fetched.
    Pulled(bool),
    /// The sleep until a time is over.
    Dozed,
}

/// The maximum number of rules of a strategy.
pub const RULES_MAX: usize = 24;

/// A waiting policy of one member. It keeps what it learns from one wait to the next.
pub trait Strategy: Send {
    /// Returns whether the next wait begins with a brief spin of about 0.5 us, which reads no clock and
    /// creates no future.
    fn spins(&self) -> bool;
    /// Returns the events that the strategy is notified of, in addition to slow waits. Called once.
    fn interest(&self) -> Interest {
        Interest::default()
    }
    /// Returns the names of its rules, if it has any, in the order of their numbers: at most [`RULES_MAX`].
    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
    /// Called when a slow wait begins: the first check and the brief spin did not find the event. Returns
    /// whether the wait counts as one that began by spinning.
    fn begin(&mut self, wait: &Progress<'_>) -> bool {
        let _ = wait;
        self.spins()
    }
    /// Returns the next step. Called again until the event has occurred or the step was [`Step::Park`].
    fn next(&mut self, wait: &Progress<'_>) -> Step;
    /// Receives the effect of the step; called before the waiter checks for the event.
    fn done(&mut self, effect: Effect, wait: &Progress<'_>) {
        let _ = (effect, wait);
    }
    /// Called when the slow wait is over: `has_come` is false if it ended with an error.
    fn end(&mut self, wait: &Progress<'_>, has_come: bool) {
        let _ = (wait, has_come);
    }
    /// Called after every successful wait, if [`Interest::waits`] is set.
    fn learn(&mut self, waited: Waited) {
        let _ = waited;
    }
    /// Called when the member arrives at an episode, if [`Interest::episodes`] is set.
    fn arrive(&mut self, now: Nanos) {
        let _ = now;
    }
    /// Called when the episode is over for the member.
    fn leave(&mut self, now: Nanos) {
        let _ = now;
    }
}

/// The events that a strategy is notified of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// All successful waits, including the shortest.
    pub waits: bool,
    /// The start and end of episodes: two clock readings each.
    pub episodes: bool,
    /// Where members run: this member publishes its processor when it arrives.
    pub places: bool,
    /// The elapsed time of yields and spins. If this is not set, the spans in [`Effect`] are zero.
    pub spans: bool,
}

/// The state of a slow wait.
pub struct Progress<'w> {
    /// CPU time spent spinning, and number of yields.
    pub waited: Waited,
    /// When the slow wait began.
    pub began: Nanos,
    /// The maximum time for which the world lets one wait spin.
    pub max_spin: Nanos,
    /// The member's account.
    pub account: &'w Account,
    /// The other members, and where threads run.
    pub around: &'w dyn Surroundings,
}

/// What a wait is for, as far as the strategy needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// Nothing is known.
    Unknown,
    /// Members that cannot publish where they run.
    Unseen,
    /// Members of a team.
    Members,
    /// The wait of a worker: members, and then only that leader, which may compute without bound.
    Leader(Rank),
    /// A message; the wait should not slow other threads for the sake of a sender.
    Message,
    /// A message, while members copy from this one's memory with its help; this may slow other threads.
    Copy,
}

impl WaitTarget {
    /// Returns whether the wait is for a message.
    pub fn is_message(self) -> bool {
        matches!(self, Self::Message | Self::Copy)
    }
}

/// What a strategy can find out about other threads, and the few immediate actions that it may take. Any
/// answer may be unknown.
pub trait Surroundings {
    /// Returns the time.
    fn now(&self) -> Nanos;
    /// Returns what the world knows about this thread and about processors.
    fn placement(&self) -> &dyn Placement;
    /// Returns what the wait is for.
    fn awaited(&self) -> WaitTarget {
        WaitTarget::Unknown
    }
    /// Returns the number of members of the team.
    fn size(&self) -> u32 {
        1
    }
    /// Returns the first awaited member for which `wanted` returns true. The search begins with the next
    /// rank, so that not all members find the same one.
    fn find(&self, wanted: &mut dyn FnMut(Rank) -> bool) -> Option<Rank> {
        let _ = wanted;
        None
    }
    /// Returns the processor on which this thread runs, and publishes it if it has changed.
    fn publish_cpu(&self) -> Option<CpuId> {
        None
    }
    /// Returns the processor that a member last published.
    fn cpu_of(&self, rank: Rank) -> Option<CpuId> {
        let _ = rank;
        None
    }
    /// Returns the thread of a member.
    fn thread_of(&self, rank: Rank) -> Option<ThreadId> {
        let _ = rank;
        None
    }
    /// Returns whether members may be moved: only if all have arrived and all may use the same processors.
    fn is_movable(&self) -> bool {
        false
    }
    /// Takes the right to move, which only one member can hold at a time. Returns whether the member now
    /// holds it. The right is released after [`Step::Move`], by [`Surroundings::end_move`], or when the wait
    /// ends.
    fn begin_move(&self) -> bool {
        false
    }
    /// Releases the right to move.
    fn end_move(&self) {}
    /// Forbids moves of all members from now on, because this one must not be moved.
    fn forbid_moves(&self) {}
}

impl dyn Surroundings + '_ {
    /// Returns whether that member is running. The call takes 1 to 2 us, so strategies should prefer
    /// [`Step::Ask`], after which the waiter checks for the event.
    pub fn is_running(&self, rank: Rank) -> Option<bool> {
        self.thread_of(rank).and_then(|thread| self.placement().running(thread))
    }

    /// Returns the number of processors that the team may use, limited by its quota, or `None` if it is not
    /// known.
    pub fn width(&self) -> Option<u32> {
        self.placement().affinity().map(|affinity| affinity.width)
    }
}
