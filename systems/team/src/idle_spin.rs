//! Decides how long an idle worker spins: for about the gap that it expects between two calls, if that is
//! worthwhile.
//!
//! Spinning for as long as a wake-up takes is never much worse than blocking at once. If calls arrive a
//! little more slowly, a longer spin pays, because the leader wakes blocked workers and pays for it in every
//! call. For rare calls it does not.
use foregather_machine::Nanos;

/// A worker does not spin through a gap of more than this many wake-up times.
const MOST: u64 = 10;
/// A worker always spins for at least this many wake-up times: if it is late for a short region, it waits
/// while the leader does its part, and is ready for the next region.
const LEAST: u64 = 2;
/// A worker spins for this many times the expected gap, because the next gap may be longer.
const MARGIN: u64 = 2;
/// The weight of the newest gap in the expected gap: one eighth.
const SHARE: u64 = 8;

/// The state that one worker has learned.
pub(crate) struct IdleSpin {
    /// The time to block and be woken.
    wake: Nanos,
    last: Option<Nanos>,
    /// The expected gap, if calls come often enough.
    gap: Option<Nanos>,
    /// The current spin limit.
    bound: Nanos,
}

impl IdleSpin {
    /// Creates the state without history, for wake-ups that take `wake`.
    pub(crate) fn new(wake: Nanos) -> Self {
        Self { wake, last: None, gap: None, bound: wake }
    }

    /// Returns whether calls are so rare that the worker blocks between them.
    pub(crate) fn sleeps(&self) -> bool {
        self.gap.is_none()
    }

    /// Records a part that finished at `now`. Returns the new spin limit if it changed.
    #[inline]
    pub(crate) fn done(&mut self, now: Nanos) -> Option<Nanos> {
        let gap = self.last.replace(now).map_or(Nanos::MAX, |last| now - last);
        let (least, most) = (self.wake * LEAST, self.wake * MOST);
        self.gap = match self.gap {
            // A rare pause does not change the expected gap; it costs one spin.
            Some(before) => Some(before - Nanos(before.0 / SHARE) + Nanos(gap.min(most * MARGIN).0 / SHARE)),
            None => Some(gap).filter(|&gap| gap <= most),
        };
        let bound = match self.gap {
            Some(gap) if gap <= most => (gap * MARGIN).clamp(least, most),
            _ => least,
        };
        self.gap = self.gap.filter(|&gap| gap <= most);
        // A small correction is not worth its cost.
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

    /// Returns the spin limit of a new worker after fifty calls with that gap.
    fn learned(gap: Nanos) -> Nanos {
        after(&mut IdleSpin::new(WAKE), &mut Nanos(1), 50, gap)
    }

    /// Returns the spin limit after `calls` more calls.
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
