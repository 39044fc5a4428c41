//! How long a worker stays hot: about the gap that it has learned to expect between two calls, if that is
//! worth it.
//!
//! To spin for as long as a wake-up takes is never much worse than to sleep at once. Calls that follow each
//! other a little more slowly are worth a longer spin, since the leader wakes sleepers and pays for it in
//! every call; rare calls are not.
use foregather_machine::Nanos;

/// A worker does not spin through a gap of more than this many wake-ups.
const MOST: u64 = 10;
/// A worker spins for this many in any case: one that comes late to a short region waits while the leader
/// does its part, and is there for the next.
const LEAST: u64 = 2;
/// A worker spins for this many times the expected gap: the next one may be longer.
const MARGIN: u64 = 2;
/// The newest gap's share in the expected one: one eighth.
const SHARE: u64 = 8;

/// What one worker has learned.
pub(crate) struct IdleSpin {
    /// How long sleeping and being woken take.
    wake: Nanos,
    last: Option<Nanos>,
    /// The expected gap, if calls come often enough.
    gap: Option<Nanos>,
    /// The present bound of spins.
    bound: Nanos,
}

impl IdleSpin {
    /// Starts with nothing learned, where a wake-up takes `wake`.
    pub(crate) fn new(wake: Nanos) -> Self {
        Self { wake, last: None, gap: None, bound: wake }
    }

    /// Whether calls come so rarely that the worker sleeps in between.
    pub(crate) fn sleeps(&self) -> bool {
        self.gap.is_none()
    }

    /// Learns from a part that was done at `now`. Returns the new bound if it changed.
    #[inline]
    pub(crate) fn done(&mut self, now: Nanos) -> Option<Nanos> {
        let gap = self.last.replace(now).map_or(Nanos::MAX, |last| now - last);
        let (least, most) = (self.wake * LEAST, self.wake * MOST);
        self.gap = match self.gap {
            // A rare pause changes no habit, and costs one spin.
            Some(before) => Some(before - Nanos(before.0 / SHARE) + Nanos(gap.min(most * MARGIN).0 / SHARE)),
            None => Some(gap).filter(|&gap| gap <= most),
        };
        let bound = match self.gap {
            Some(gap) if gap <= most => (gap * MARGIN).clamp(least, most),
            _ => least,
        };
        self.gap = self.gap.filter(|&gap| gap <= most);
        // A change costs more than a bound that is a little off.
        let differs = bound > self.bound * 2 || bound * 2 < self.bound || bound == least && self.bound != least;
        differs.then(|| {
            self.bound = bound;
            bound
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKE: Nanos = Nanos::from_us(20);
    const SHORT: Nanos = Nanos::from_us(40);

    /// The bound of a new worker after fifty calls with that gap.
    fn learned(gap: Nanos) -> Nanos {
        after(&mut IdleSpin::new(WAKE), &mut Nanos(1), 50, gap)
    }

    /// The bound after `calls` more calls.
    fn after(idle_spin: &mut IdleSpin, now: &mut Nanos, calls: u32, gap: Nanos) -> Nanos {
        for _ in 0..calls {
            *now += gap;
            idle_spin.done(*now);
        }
        idle_spin.bound
    }

    #[test]
    fn it_stays_hot_for_about_twice_the_gap() {
        let us = Nanos::from_us;
        for (gap, bound) in [(us(1), SHORT), (us(8), SHORT), (us(50), us(100)), (us(90), us(180))] {
            let hot = learned(gap);
            assert!(hot >= bound.percent(75) && hot <= bound * 2, "{gap}: {hot}");
        }
    }

    #[test]
    fn rare_calls_are_not_waited_for() {
        for gap in [Nanos::from_us(250), Nanos::from_ms(50)] {
            assert_eq!(learned(gap), SHORT, "{gap}");
        }
    }

    #[test]
    fn one_pause_is_forgiven_and_a_new_habit_learned() {
        let (mut idle_spin, mut now) = (IdleSpin::new(WAKE), Nanos::ZERO);
        let hot = after(&mut idle_spin, &mut now, 50, Nanos::from_us(60));
        assert!(hot > SHORT, "{hot}");
        assert_eq!(after(&mut idle_spin, &mut now, 1, Nanos::from_ms(3)), hot, "one pause");
        assert_eq!(after(&mut idle_spin, &mut now, 30, Nanos::from_ms(3)), SHORT, "pauses");
        assert!(after(&mut idle_spin, &mut now, 50, Nanos::from_us(60)) > SHORT, "calls again");
    }
}
