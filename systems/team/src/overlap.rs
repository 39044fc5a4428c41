//! Estimates whether calls from inside another runtime's region come from several of its members at once. If
//! the region has a thread for each processor, such calls leave none for a team. If only one member calls, as
//! in `omp single`, the others wait and their processors are free.
use foregather_machine::Nanos;

/// A call that computes for this long without an overlapping call shows that only one member calls. Shorter
/// calls show nothing: under load, the other members may just have no processor.
const LONG: Nanos = Nanos::from_ms(1);

/// The history of calls from members.
#[derive(Debug)]
pub(crate) struct CallOverlap {
    /// How many calls had found the team busy at the last call of a member.
    busy: u64,
    /// Whether only one member calls, as far as is known.
    is_single: bool,
}

impl CallOverlap {
    pub(crate) const fn new() -> Self {
        Self { busy: 0, is_single: false }
    }

    /// Returns whether a member's call should run without a team, if `busy` calls have found the team busy so
    /// far.
    pub(crate) fn is_likely(&mut self, busy: u64) -> bool {
        self.is_single &= busy == self.busy;
        self.busy = busy;
        !self.is_single
    }

    /// Records that a call ran without a team and computed for that long.
    pub(crate) fn learn(&mut self, busy: u64, computed: Nanos) {
        self.is_single = busy == self.busy && computed >= LONG;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_calls_alone_has_a_team_after_a_long_call_until_another_one_calls() {
        let mut overlap = CallOverlap::new();
        for busy in [0, 0, 1] {
            assert!(overlap.is_likely(busy), "nothing is known");
            overlap.learn(busy, Nanos(LONG.0 - 1));
        }
        assert!(overlap.is_likely(1));
        overlap.learn(2, LONG);
        assert!(overlap.is_likely(2), "another one called meanwhile");
        overlap.learn(2, LONG);
        assert!(!overlap.is_likely(2) && !overlap.is_likely(2), "it calls alone");
        assert!(overlap.is_likely(3), "another one has called since");
    }
}
