//! Whether calls from within a region of another runtime come from several of its members at a time. If the
//! region has a thread for each processor, such calls leave none for a team; but if one member calls alone,
//! as in `omp single`, the others wait and their processors are free.
use foregather_machine::Nanos;

/// A call that computes for this long and is not overlapped by another shows that one member calls alone.
/// Shorter ones show nothing: on a busy machine other members may just have no processor.
const LONG: Nanos = Nanos::from_ms(1);

/// What calls of members have shown.
#[derive(Debug)]
pub(crate) struct CallOverlap {
    /// How many calls had found the team busy when a member called last.
    busy: u64,
    /// Whether one member calls alone, as far as is known.
    is_single: bool,
}

impl CallOverlap {
    pub(crate) const fn new() -> Self {
        Self { busy: 0, is_single: false }
    }

    /// Whether the call of a member does without a team, if `busy` calls have found the team busy so far.
    pub(crate) fn is_likely(&mut self, busy: u64) -> bool {
        self.is_single &= busy == self.busy;
        self.busy = busy;
        !self.is_single
    }

    /// Learns that a call did without a team and computed for that long.
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
