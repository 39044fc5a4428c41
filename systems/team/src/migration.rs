//! Decides whether a woken member moves to another processor before it starts. The kernel often wakes it on
//! the leader's processor, and then the two parts run one after another, however idle the machine is.
//!
//! A worker that blocks between long parts excludes the leader's processor from its affinity mask until it is
//! woken, which saves the move.
//!
//! After a long sleep there is no quick way to know whether a processor is idle. So a move is tried, and
//! evaluated by how long the part took.
use foregather_machine::Nanos;

/// A move, which takes about one wake-up, is worthwhile for a part that takes this many wake-up times.
const WORTH: u64 = 4;
/// If a part takes this many halves of its former time after a move, the move was bad: other threads run
/// there.
const WORSE_HALVES: u64 = 3;
/// The minimum and maximum time without another try after a bad move.
const HOLD: (Nanos, Nanos) = (Nanos::from_ms(20), Nanos::from_ms(1_000));

/// The state that one member has learned.
pub(crate) struct Migration {
    wake: Nanos,
    /// How long its last part took on the leader's processor.
    took: Nanos,
    hold: Nanos,
    hold_until: Nanos,
}

impl Migration {
    /// Creates the state without history, for wake-ups that take `wake`.
    pub(crate) fn new(wake: Nanos) -> Self {
        Self { wake, took: Nanos::ZERO, hold: HOLD.0, hold_until: Nanos::ZERO }
    }

    /// Returns whether the member should leave the leader's processor.
    pub(crate) fn is_worth_it(&self, now: Nanos) -> bool {
        self.is_long(self.took) && now >= self.hold_until
    }

    /// Returns whether a part that took `took` is long enough to justify a move.
    pub(crate) fn is_long(&self, took: Nanos) -> bool {
        took >= self.wake * WORTH
    }

    /// Records how long a part took that could have run on the leader's processor, and whether the member
    /// `left` it.
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
