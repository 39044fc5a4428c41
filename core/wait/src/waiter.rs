//! What the policies that choose anew for every wait go by: a little history of one member.
//!
//! Whoever waits often (a barrier's member, an endpoint) owns one. It takes [`Waiter::phases`] for a glance, waits by
//! [`Waiter::wait_slow`], tells what came of a glance by [`Waiter::learn`], where it runs by [`Waiter::observe`], and where an
//! episode begins and ends by [`Waiter::arrive`] and [`Waiter::leave`]. For a fixed policy each of these is one branch that
//! never changes.
use crate::adaptive::AdaptiveState;
use crate::draw::Draw;
use crate::history::History;
use crate::roster::{Awaited, Roster, WaitFor};
use crate::{Account, Multiple, Outcome, Phases, Policy, Waited};
use core::cell::Cell;
use foregather_machine::{Clock, Cpu, Error, Fabric, Nanos, Rank, WaitContext};
use std::sync::Arc;

/// How many waits [`Policy::Recent`] remembers.
const WAITS: usize = 3;
/// How many gaps [`Policy::Grain`] remembers, and how many it must have seen before it judges.
const GAPS: usize = 8;
const ENOUGH_GAPS: usize = 3;
/// Gaps from this multiple of a context switch on are coarse grain (Tsafrir & Feitelson 2002 §2.1).
const COARSE: Multiple = Multiple::Percent(500);

/// Says how each wait of one member goes, and keeps the account of them.
pub struct Waiter {
    next: Cell<Phases>,
    state: State,
    account: Arc<Account>,
}

/// What a policy goes by.
enum State {
    Fixed,
    Randomised { switch: Nanos, draw: Draw },
    Recent { switch: Nanos, waits: History<WAITS> },
    HolderRunning,
    Grain { switch: Nanos, quantum: Nanos, left: Cell<Option<Nanos>>, gaps: History<GAPS> },
    Adaptive(AdaptiveState),
}

impl Waiter {
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
            Policy::Adaptive(of) => (first, State::Adaptive(AdaptiveState::new(of))),
            _ => (first, State::Fixed),
        };
        let chooser = Self { next: Cell::new(next), state, account: Arc::default() };
        chooser.remember();
        chooser
    }

    /// Does the policy learn nothing from waits that end in a glance? Then there is nothing to tell this chooser of them.
    #[inline]
    pub fn fixed(&self) -> bool {
        matches!(self.state, State::Fixed | State::Adaptive(_))
    }

    /// What the waits have come to. A clone of it can be read by others while this one waits.
    #[inline]
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// How to begin the next wait, for [`Phases::try_wait`].
    #[inline]
    pub fn phases(&self) -> Phases {
        self.next.get()
    }

    /// Waits on after a glance that found nothing, until `probe` finds something. Begins when called: await it.
    ///
    /// # Errors
    /// When the wait can no longer succeed: poisoned word, passed deadline, lost peer ([`Cpu::check`]).
    #[cold]
    #[inline(never)]
    pub fn wait_slow<'a, C: Cpu, T>(
        &'a self,
        cpu: &'a C,
        on: &'a C::Word,
        why: WaitContext,
        awaited: Awaited<'a, C>,
        probe: impl FnMut() -> Option<T> + 'a,
    ) -> impl Future<Output = Result<(T, Waited), Error>> {
        cpu.run_inline(async move {
            let result = match &self.state {
                State::Adaptive(memory) => memory.wait(cpu, on, why, (&awaited, &self.account), probe).await,
                State::HolderRunning if awaited.run(cpu) == Some(false) => {
                    Phases::spin(Nanos::ZERO).phase_by_phase(cpu, on, why, probe).await
                }
                _ => self.phases().phase_by_phase(cpu, on, why, probe).await,
            };
            if let Ok((_, waited)) = &result {
                self.learn(*waited);
            }
            self.remember();
            result
        })
    }

    /// The whole of a wait on a lane's bell: for what `probe` finds, of `whom`.
    ///
    /// # Errors
    /// As [`Waiter::wait_slow`].
    #[inline]
    pub async fn on_lane<F: Fabric, T>(
        &self,
        lane: &F,
        why: WaitContext,
        whom: WaitFor,
        mut probe: impl FnMut() -> Option<T>,
    ) -> Result<T, Error> {
        let (cpu, rank, roster) = (lane.cpu(), lane.here().rank, Roster::new(lane.roster()));
        self.observe(cpu, roster, rank);
        let (found, waited) = match self.phases().try_wait(cpu, false, &mut probe) {
            Some((found, waited)) => {
                self.learn(waited);
                (found, waited)
            }
            None => self.wait_slow(cpu, lane.bell(), why, Awaited { roster, rank, whom }, probe).await?,
        };
        self.account().waited(waited);
        Ok(found)
    }

    /// The next glance of the adaptive policy: with blind pauses, or without.
    fn remember(&self) {
        if let State::Adaptive(memory) = &self.state {
            self.next.set(Phases::spin(if memory.blinks() { memory.bound() } else { Nanos::ZERO }));
        }
    }

    /// The member comes to a place where others will wait for it: they can see where it runs.
    #[inline]
    pub fn observe<C: Cpu>(&self, cpu: &C, roster: Roster<'_, C>, rank: Rank) {
        if let State::Adaptive(memory) = &self.state {
            memory.observe(cpu, roster, rank);
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
