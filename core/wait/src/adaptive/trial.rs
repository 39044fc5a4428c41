//! How a team waits that strangers crowd out: asleep, unless yields are measured to be far better.
//!
//! Asleep the team keeps its claim to the processors and loses no turns, but each barrier costs a wake-up a
//! member. With yields it gives turns away, which on few processors may be all that it had, and on many next
//! to nothing. So the member that found the strangers compares: after some ticks of sleep all yield for two
//! ticks, less if that is hopeless. Yields must win by far at first, since a trial is short and a stranger's
//! turn long, and are kept for longer each time that they prove better.
use super::{Adaptive, Rules};
use crate::Account;
use foregather_machine::Nanos;

/// How many ticks a trial takes.
const TRIAL: u64 = 2;
/// The ticks of sleep before the first trial; before each later one four times as many.
const FIRST: u64 = 1;
/// The ticks that yields stay after the first trial that they win; after each later one four times as many.
const STAY: u64 = 4;
/// The most ticks from one trial to the next; a trial that yields lost by far is followed by this pause at
/// once.
const LONGEST: u64 = 125;
/// The fewest episodes that can be compared with others.
const FEW: u64 = 4;
/// How many times as long the episodes of a team that sleeps must be: for yields to win a trial, and to stay,
/// in percent.
const WINS: u64 = 200;
const STAYS: u64 = 125;
/// A trial ends early if even an episode that ended now would be this number of times as long as one of a
/// team that sleeps.
const HOPELESS: u64 = 8;

/// How all members of a team that is crowded out wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Asleep at once.
    #[default]
    Asleep,
    /// With yields only.
    Yielding,
}

/// The measurements of the member that found the strangers.
#[derive(Default)]
pub(super) struct YieldTrial {
    way: Way,
    /// When the present way began, after how many of its waits, and how long it goes on. `None`: before the
    /// next wait, as the present one had the lost turn in it.
    since: Option<Nanos>,
    waits: u64,
    span: Nanos,
    /// How long an episode took while the team slept.
    asleep: Nanos,
    /// Time from the last trial to the next one.
    pause: Nanos,
    /// Have yields won the last trial?
    won: bool,
}

impl YieldTrial {
    /// A team that has just been crowded out: it sleeps at first.
    pub(super) fn begin(of: Adaptive, waits: u64) -> Self {
        let pause = of.tick * FIRST;
        Self { waits, span: pause, pause, ..Self::default() }
    }

    /// How does the team wait now?
    pub(super) fn look(&mut self, of: Adaptive, now: Nanos, account: &Account) -> Way {
        if of.without.has(Rules::YIELD_IN_CROWD) {
            return Way::Asleep;
        }
        let waits = account.waits();
        let Some(since) = self.since else {
            if waits > self.waits {
                (self.since, self.waits) = (Some(now), waits);
            }
            return Way::Asleep;
        };
        let (elapsed, episodes) = (now - since, waits - self.waits);
        let longest = of.tick * LONGEST;
        match self.way {
            Way::Asleep if elapsed >= self.span && episodes >= FEW => {
                self.asleep = Nanos(elapsed.0 / episodes);
                (self.way, self.span, self.won) = (Way::Yielding, of.tick * TRIAL, false);
            }
            Way::Yielding if self.is_clear(of, elapsed, episodes) => {
                let episode = Nanos(elapsed.0 / episodes.max(1));
                let better = episode.percent(if self.won { STAYS } else { WINS }) < self.asleep;
                if better && self.span < longest {
                    self.span = if self.won { (self.span * 4).min(longest) } else { of.tick * STAY };
                    self.won = true;
                } else if better {
                    // How long episodes of a team that sleeps take is measured anew.
                    (self.way, self.span) = (Way::Asleep, of.tick * TRIAL);
                } else {
                    let lost_by_far = episode > self.asleep * 2;
                    self.pause = if lost_by_far { longest } else { (self.pause * 4).min(longest) };
                    (self.way, self.span) = (Way::Asleep, self.pause);
                }
            }
            way => return way,
        }
        (self.since, self.waits) = (Some(now), waits);
        self.way
    }

    /// Is it known by now whether yields are better?
    fn is_clear(&self, of: Adaptive, elapsed: Nanos, episodes: u64) -> bool {
        let worse = |times: u64| elapsed > self.asleep * (episodes + 1) * times;
        elapsed >= self.span && (episodes >= FEW || worse(1)) || elapsed >= of.tick.percent(50) && worse(HOPELESS)
    }
}
