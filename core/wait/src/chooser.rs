//! What the policies that choose anew for every wait go by: a little history of one member.
//!
//! Whoever waits often (a barrier's member, an endpoint) owns one. It takes [`Chooser::phases`] for a glance, asks
//! [`Chooser::decide`] when it has to wait, tells what came of it by [`Chooser::learn`], and where an episode begins and ends by
//! [`Chooser::arrive`] and [`Chooser::leave`]. For a fixed policy each of these is one branch that never changes.
use crate::draw::Draw;
use crate::history::History;
use crate::{Multiple, Outcome, Phases, Policy, Waited};
use core::cell::Cell;
use foregather_machine::{Clock, Nanos, Rank};

/// How many waits [`Policy::Recent`] remembers.
const WAITS: usize = 3;
/// How many gaps [`Policy::Grain`] remembers, and how many it must have seen before it judges.
const GAPS: usize = 8;
const ENOUGH_GAPS: usize = 3;
/// Gaps from this multiple of a context switch on are coarse grain (Tsafrir & Feitelson 2002 §2.1).
const COARSE: Multiple = Multiple::Percent(500);

/// Says how each wait of one member goes. No allocation, no sharing.
pub struct Chooser {
    next: Cell<Phases>,
    state: State,
}

/// What a policy goes by.
enum State {
    Fixed,
    Randomised { switch: Nanos, draw: Draw },
    Recent { switch: Nanos, waits: History<WAITS> },
    HolderRunning,
    Grain { switch: Nanos, quantum: Nanos, left: Cell<Option<Nanos>>, gaps: History<GAPS> },
}

impl Chooser {
    /// For the waits of `rank` by `policy`. Two choosers of one policy and rank that see the same choose the same.
    pub fn new(policy: Policy, rank: Rank) -> Self {
        let first = policy.phases();
        let (next, state) = match policy {
            Policy::Randomised { switch } => {
                let draw = Draw::new(rank);
                (Phases::spin(draw.bound(switch)), State::Randomised { switch, draw })
            }
            Policy::Recent { switch } => (first, State::Recent { switch, waits: History::new() }),
            Policy::HolderRunning { .. } => (first, State::HolderRunning),
            Policy::Grain { switch, quantum } => {
                (first, State::Grain { switch, quantum, left: Cell::new(None), gaps: History::new() })
            }
            _ => (first, State::Fixed),
        };
        Self { next: Cell::new(next), state }
    }

    /// Is the policy the same for every wait? Then there is nothing to tell this chooser.
    #[inline]
    pub fn fixed(&self) -> bool {
        matches!(self.state, State::Fixed)
    }

    /// How to begin the next wait, for [`Phases::glance`].
    #[inline]
    pub fn phases(&self) -> Phases {
        self.next.get()
    }

    /// How to go on after a glance that found nothing, for [`Phases::persist`]. `running` is asked at most once: do all who
    /// are awaited hold processors, or can nobody tell?
    #[inline]
    pub fn decide(&self, running: impl FnOnce() -> Option<bool>) -> Phases {
        match self.state {
            State::HolderRunning if running() == Some(false) => Phases::spin(Nanos::ZERO),
            _ => self.phases(),
        }
    }

    /// The member arrives at an episode.
    #[inline]
    pub fn arrive(&self, clock: &impl Clock) {
        if let State::Grain { .. } = self.state {
            self.measure(clock.now());
        }
    }

    /// The episode is over for this member, whether it had to wait or not.
    #[inline]
    pub fn leave(&self, clock: &impl Clock) {
        if let State::Grain { left, .. } = &self.state {
            left.set(Some(clock.now()));
        }
    }

    /// One wait has ended well.
    #[inline]
    pub fn learn(&self, waited: Waited) {
        if let State::Randomised { .. } | State::Recent { .. } = self.state {
            self.choose_after(waited);
        }
    }

    #[cold]
    fn choose_after(&self, waited: Waited) {
        let spin = match &self.state {
            State::Randomised { switch, draw } => draw.bound(*switch),
            // Who found the event at once has not waited: every bound would have cost the same.
            State::Recent { switch, waits } if waited.outcome > Outcome::FirstLook => {
                waits.push(length(waited, *switch));
                best_bound(waits, *switch)
            }
            _ => return,
        };
        self.next.set(Phases::spin(spin));
    }

    #[cold]
    fn measure(&self, now: Nanos) {
        if let State::Grain { switch, quantum, left, gaps } = &self.state
            && let Some(left) = left.get()
        {
            gaps.push(now - left);
            let fine = gaps.median_below(*quantum).is_some_and(|gap| gap < COARSE.times(*switch));
            let spin = if fine || gaps.seen() < ENOUGH_GAPS { Multiple::TwoCsPlus.times(*switch) } else { Nanos::ZERO };
            self.next.set(Phases::spin(spin));
        }
    }
}

/// How long it took until the event came. A sleeper was woken one context switch later; a spinner has noted its own
/// processor time, of which a blink is too little to be noted.
fn length(waited: Waited, switch: Nanos) -> Nanos {
    let length = match waited.outcome {
        Outcome::Parked => waited.waited - switch,
        Outcome::Yielded => waited.waited,
        Outcome::FirstLook | Outcome::Spun => waited.spun,
    };
    length.max(Nanos(1))
}

/// The one of the bounds 0 and `switch` that would have cost less; of equals the longer.
fn best_bound<const N: usize>(waits: &History<N>, switch: Nanos) -> Nanos {
    let cost = |bound: Nanos| {
        let costs = waits.times().map(|wait| if wait <= bound { wait } else { bound + switch });
        costs.fold(Nanos::ZERO, |sum, cost| sum + cost)
    };
    if cost(switch) <= cost(Nanos::ZERO) { switch } else { Nanos::ZERO }
}
