//! How a sleeping thread learns of an event.
use foregather_machine::{Nanos, SplitMix};

/// How a sleeping thread learns of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The NIC interrupts: at once.
    Interrupt,
    /// The NIC cannot interrupt, so a thread must poll. While a processor of the node is idle that is at
    /// once, since a thread of the lowest priority polls there; beside computing threads it is only when a
    /// timer lets a thread of high priority poll (Itzkovitz & Schuster 1999 §3.5).
    Sweeps(Sweeps),
}

/// The intervals of a timer: most of them `usual`, one in `one_in` `early` or `late`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweeps {
    /// The regular interval.
    pub usual: Nanos,
    /// The interval before an early event.
    pub early: Nanos,
    /// The interval before a late event.
    pub late: Nanos,
    /// Of this many events one comes early and one late; 0 for none.
    pub one_in: u32,
}

impl Sweeps {
    /// Always the same interval.
    pub const fn regular(usual: Nanos) -> Self {
        Self { usual, early: usual, late: usual, one_in: 0 }
    }

    /// The interval from one event to the next.
    fn next(&self, random: &mut SplitMix) -> Nanos {
        let which = if self.one_in == 0 { u64::MAX } else { random.below(u64::from(self.one_in.max(2))) };
        let apart = match which {
            0 => self.early,
            1 => self.late,
            _ => self.usual,
        };
        apart.max(Nanos(1))
    }
}

/// A node's timer, and the lanes that it must tell.
pub(super) struct Timer {
    next: Nanos,
    random: SplitMix,
    /// Lanes with an event that no thread has noticed.
    pub(super) unnoticed: Vec<u32>,
}

impl Timer {
    /// A timer that is not in step with others.
    pub(super) fn new(seed: u64) -> Self {
        Self { next: Nanos::ZERO, random: SplitMix(seed), unnoticed: Vec::new() }
    }

    /// Its first event after `now`.
    pub(super) fn after(&mut self, now: Nanos, sweeps: &Sweeps) -> Nanos {
        if self.next == Nanos::ZERO {
            self.next = Nanos(self.random.below(sweeps.usual.0.max(1)));
        }
        while self.next <= now {
            self.next += sweeps.next(&mut self.random);
        }
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_comes_as_often_as_its_rule_says_in_the_same_order_for_the_same_seed() {
        let us = Nanos::from_us;
        let rule = Sweeps { usual: us(1_000), early: us(50), late: us(3_000), one_in: 10 };
        let gaps = |seed| {
            let mut timer = Timer::new(seed);
            let events: Vec<Nanos> = (0..10_000)
                .scan(Nanos::ZERO, |now, _| {
                    *now = timer.after(*now, &rule);
                    Some(*now)
                })
                .collect();
            events
        };
        let (first, again) = (gaps(1), gaps(1));
        assert_eq!(first, again);
        let of = |span| first.windows(2).filter(|pair| pair[1] - pair[0] == span).count();
        assert!((900..1_100).contains(&of(us(50))) && (900..1_100).contains(&of(us(3_000))));
        assert_eq!(of(us(50)) + of(us(3_000)) + of(us(1_000)), 9_999);
    }

    #[test]
    fn a_regular_timer_never_comes_early_or_late() {
        let mut timer = Timer::new(3);
        let rule = Sweeps::regular(Nanos(100));
        let first = timer.after(Nanos::ZERO, &rule);
        assert_eq!(timer.after(first, &rule), first + Nanos(100));
        assert_eq!(timer.after(first + Nanos(950), &rule), first + Nanos(1_000));
    }
}
