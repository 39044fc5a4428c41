//! The interface of a waiting policy: what to do next with the processor, from the end of the first look on.
//!
//! A policy is one [`Strategy`] in a file of its own. [`Waiter::wait`](crate::Waiter::wait) asks it for a
//! [`Step`], takes the step in its world, and tells it the effect; the waiter sees to the event, poison,
//! deadlines and lost peers.
use crate::{Account, Waited};
use foregather_machine::{CpuId, Nanos, Placement, Rank, ThreadId};

/// What a waiting thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Keep the processor for at most this much of its own processor time.
    Spin(Nanos),
    /// Offer the processor to another runnable thread.
    Yield,
    /// Ask whether that rank holds a processor.
    Ask(Rank),
    /// Send a scout to that processor, or ask whether it is back.
    Scout(CpuId),
    /// Move to that processor, with the right to move ([`Surroundings::begin_move`]); gives the right back.
    Move(CpuId),
    /// Fetch that thread to this processor, and hand the processor over.
    Pull(ThreadId),
    /// Sleep until that moment, or until the word changes before.
    Doze(Nanos),
    /// Sleep until the word changes; the last step of a wait.
    Park,
}

/// The effect of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Spun for `used` of its own processor time, in `span` of elapsed time: the difference was a preemption.
    Spun {
        /// Processor time.
        used: Nanos,
        /// Elapsed time.
        span: Nanos,
    },
    /// The yield came back after that long.
    Yielded(Nanos),
    /// Does the rank hold a processor? `None` if the world cannot tell.
    Asked(Option<bool>),
    /// Has the scout come back from an idle processor? `None` if there is none to send.
    Scouted(Option<bool>),
    /// Was the thread moved?
    Moved(bool),
    /// Was the other thread fetched?
    Pulled(bool),
    /// The sleep until a moment is over.
    Dozed,
}

/// The most rules of a strategy.
pub const RULES_MAX: usize = 24;

/// A waiting policy of one member. It keeps what it learns from wait to wait.
pub trait Strategy: Send {
    /// Does the next wait begin with a brief spin, of about half a microsecond, which costs neither a clock
    /// nor a future?
    fn spins(&self) -> bool;
    /// The events beside its slow waits that it wants to hear of. Asked once.
    fn interest(&self) -> Interest {
        Interest::default()
    }
    /// The names of its rules, if it goes by any, in the order of their numbers: [`RULES_MAX`] at most.
    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
    /// A wait begins which the first look and the brief spin did not end. Does it count as one that began by
    /// spinning?
    fn begin(&mut self, wait: &Progress<'_>) -> bool {
        let _ = wait;
        self.spins()
    }
    /// The next step. Asked again until the event has come or the step was [`Step::Park`].
    fn next(&mut self, wait: &Progress<'_>) -> Step;
    /// The effect of the step; told before the waiter looks for the event.
    fn done(&mut self, effect: Effect, wait: &Progress<'_>) {
        let _ = (effect, wait);
    }
    /// The slow wait is over. Has the event come, or did the wait end with an error?
    fn end(&mut self, wait: &Progress<'_>, has_come: bool) {
        let _ = (wait, has_come);
    }
    /// A wait has ended well: called for every one, where [`Interest::waits`] asks for them.
    fn learn(&mut self, waited: Waited) {
        let _ = waited;
    }
    /// The member arrives at an episode, where [`Interest::episodes`] asks for them.
    fn arrive(&mut self, now: Nanos) {
        let _ = now;
    }
    /// The episode is over for the member.
    fn leave(&mut self, now: Nanos) {
        let _ = now;
    }
}

/// The events that a strategy wants to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// All waits that end well, the shortest included.
    pub waits: bool,
    /// When episodes begin and end: two readings of the clock each.
    pub episodes: bool,
    /// Where members run: this member publishes its processor when it arrives.
    pub places: bool,
    /// How long yields and spins took, by the clock; without it their spans are zero.
    pub spans: bool,
}

/// A slow wait so far.
pub struct Progress<'w> {
    /// Processor time spent spinning, and yields made.
    pub waited: Waited,
    /// When the slow wait began.
    pub began: Nanos,
    /// The longest that the world lets one wait spin.
    pub max_spin: Nanos,
    /// The member's account.
    pub account: &'w Account,
    /// The other members, and where threads run.
    pub around: &'w dyn Surroundings,
}

/// What a wait is for, as far as the strategy is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// Nothing is known.
    Unknown,
    /// Members that cannot publish where they run.
    Unseen,
    /// Members of a team.
    Members,
    /// Workers' wait: members, and then that leader alone, which may compute without bound.
    Leader(Rank),
    /// A message, for which a sender is not worth other threads' time.
    Message,
    /// A message, while members copy from this one's memory with its help. They are worth other threads'
    /// time.
    Copy,
}

impl WaitTarget {
    /// Returns whether the wait is for a message.
    pub fn is_message(self) -> bool {
        matches!(self, Self::Message | Self::Copy)
    }
}

/// What a strategy may ask about the threads around it, and the few things that it may do about them at once.
/// Each question may go unanswered.
pub trait Surroundings {
    /// The time.
    fn now(&self) -> Nanos;
    /// What the world tells of this thread, and of processors.
    fn placement(&self) -> &dyn Placement;
    /// What the wait is for.
    fn awaited(&self) -> WaitTarget {
        WaitTarget::Unknown
    }
    /// The number of members of the team.
    fn size(&self) -> u32 {
        1
    }
    /// The first awaited member for which `wanted` holds, beginning with the next rank, so that members do
    /// not all find the same one.
    fn find(&self, wanted: &mut dyn FnMut(Rank) -> bool) -> Option<Rank> {
        let _ = wanted;
        None
    }
    /// Where this thread runs, published to the others if that is new.
    fn publish_cpu(&self) -> Option<CpuId> {
        None
    }
    /// Where a member was when it last published it.
    fn cpu_of(&self, rank: Rank) -> Option<CpuId> {
        let _ = rank;
        None
    }
    /// The thread of a member.
    fn thread_of(&self, rank: Rank) -> Option<ThreadId> {
        let _ = rank;
        None
    }
    /// May members be moved? Only if all have come and all may use the same processors.
    fn is_movable(&self) -> bool {
        false
    }
    /// Takes the right to move, which one member has at a time; given back after [`Step::Move`], by
    /// [`Surroundings::end_move`], or when the wait ends.
    fn begin_move(&self) -> bool {
        false
    }
    /// Gives the right to move back.
    fn end_move(&self) {}
    /// From now on no member is moved, since this one must not be.
    fn forbid_moves(&self) {}
}

impl dyn Surroundings + '_ {
    /// Does that member hold a processor now? Takes a microsecond or two: [`Step::Ask`] looks for the event
    /// after each question.
    pub fn is_running(&self, rank: Rank) -> Option<bool> {
        self.thread_of(rank).and_then(|thread| self.placement().running(thread))
    }

    /// How many processors' worth of time the team may use, as far as is known.
    pub fn width(&self) -> Option<u32> {
        self.placement().affinity().map(|affinity| affinity.width)
    }
}
