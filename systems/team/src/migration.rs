//! Whether a woken member goes to another processor before it begins: the kernel often wakes it where the
//! leader runs, and then the two parts are done one after the other, however idle the machine is.
//!
//! A worker that sleeps between long parts keeps off the leader's processor until it is woken: that saves the
//! move.
//!
//! Whether a processor is free cannot be known in time after a long sleep. So a move is tried, and judged by
//! how long the part took.
use foregather_machine::Nanos;

/// A part of this many wake-ups is worth the move, which takes about one.
const WORTH: u64 = 4;
/// After a part that took this many halves as long elsewhere, the member had better have stayed: other
/// threads run there.
const WORSE_HALVES: u64 = 3;
/// How long no move is tried after that, at first and at most.
const HOLD: (Nanos, Nanos) = (Nanos::from_ms(20), Nanos::from_ms(1_000));

/// What one member has learned.
pub(crate) struct Migration {
    wake: Nanos,
    /// How long its last part took on the leader's processor.
    took: Nanos,
    hold: Nanos,
    hold_until: Nanos,
}

impl Migration {
    /// Starts with nothing learned, where a wake-up takes `wake`.
    pub(crate) fn new(wake: Nanos) -> Self {
        Self { wake, took: Nanos::ZERO, hold: HOLD.0, hold_until: Nanos::ZERO }
    }

    /// Whether to leave the leader's processor.
    pub(crate) fn is_worth_it(&self, now: Nanos) -> bool {
        self.is_long(self.took) && now >= self.hold_until
    }

    /// Whether a part that took `took` is worth being elsewhere.
    pub(crate) fn is_long(&self, took: Nanos) -> bool {
        took >= self.wake * WORTH
    }

    /// Learns how long a part took that could have been done on the leader's processor, and whether the
    /// member `left` it.
    pub(crate) fn learn(&mut self, now: Nanos, took: Nanos, left: bool) {
        if !left {
            self.took = took;
        } else if took * 2 > self.took * WORSE_HALVES {
            self.hold_until = now + self.hold;
            self.hold = (self.hold * 2).min(HOLD.1);
        } else {
            self.hold = HOLD.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKE: Nanos = Nanos::from_us(20);
    const LONG: Nanos = Nanos::from_ms(1);

    #[test]
    fn short_parts_are_not_worth_a_move() {
        let mut migration = Migration::new(WAKE);
        assert!(!migration.is_worth_it(Nanos(1)), "nothing is known yet");
        migration.learn(Nanos(1), WAKE * 3, false);
        assert!(!migration.is_worth_it(Nanos(1)));
        migration.learn(Nanos(1), WAKE * 4, false);
        assert!(migration.is_worth_it(Nanos(1)));
    }

    #[test]
    fn where_others_compute_it_is_tried_ever_more_rarely() {
        let mut migration = Migration::new(WAKE);
        migration.learn(Nanos(1), LONG, false);
        let (mut now, mut tries) = (Nanos::ZERO, 0);
        while now < LONG * 10_000 {
            if migration.is_worth_it(now) {
                tries += 1;
                migration.learn(now, LONG * 2, true);
            }
            now += LONG;
        }
        assert!((10..25).contains(&tries), "{tries} in ten seconds");
        migration.hold_until = now;
        migration.learn(now, LONG, true);
        assert!(migration.is_worth_it(now), "one that went well ends that");
        migration.learn(now, LONG * 2, true);
        assert!(migration.is_worth_it(now + HOLD.0));
    }
}
