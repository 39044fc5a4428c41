//! Estimates whether calls from inside another runtime's region come from several of its members at once. If
//! the region has a thread for each processor, such calls leave none for a team. If only one member calls, as
//! in `omp single`, the others wait and their processors are free.
use foregather_host::{clock, usage};
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
    /// Whether the last call was long by the clock. Then the next one's processor time is read, which takes a
    /// system call.
    was_long: bool,
}

impl CallOverlap {
    pub(crate) const fn new() -> Self {
        Self { busy: 0, is_single: false, was_long: false }
    }

    /// Returns whether a member's call should run without a team, if `busy` calls have found the team busy so
    /// far.
    pub(crate) fn is_likely(&mut self, busy: u64) -> bool {
        self.is_single &= busy == self.busy;
        self.busy = busy;
        !self.is_single
    }

    /// Makes a call without a team and learns from how long it took, and from how many calls found the team
    /// `busy` by its end.
    pub(crate) fn time(&mut self, call: impl FnOnce(), busy: impl FnOnce() -> u64) {
        let read = if self.was_long { usage::thread_cpu } else { clock::now };
        let began = read();
        call();
        self.learn(busy(), read() - began);
    }

    /// Records that a call ran without a team for that long: in processor time if the last one was long, else
    /// by the clock.
    fn learn(&mut self, busy: u64, took: Nanos) {
        let is_long = took >= LONG;
        self.is_single = self.was_long && is_long && busy == self.busy;
        self.was_long = is_long;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn a_member_that_calls_alone_has_a_team_after_two_long_calls_until_another_one_calls() {
        let mut overlap = CallOverlap::new();
        for busy in [0, 0, 1] {
            assert!(overlap.is_likely(busy), "nothing is known");
            overlap.learn(busy, Nanos(LONG.0 - 1));
        }
        assert!(overlap.is_likely(1));
        overlap.learn(1, LONG);
        assert!(overlap.is_likely(1), "it may have had no processor");
        overlap.learn(2, LONG);
        assert!(overlap.is_likely(2), "another one called meanwhile");
        overlap.learn(2, LONG);
        assert!(!overlap.is_likely(2) && !overlap.is_likely(2), "it calls alone");
        assert!(overlap.is_likely(3), "another one has called since");
        overlap.learn(3, Nanos(LONG.0 - 1));
        assert!(overlap.is_likely(3), "a short call shows nothing");
    }

    #[test]
    fn only_the_call_after_a_long_one_is_timed_by_its_processor_time() {
        let mut overlap = CallOverlap::new();
        let sleep = || std::thread::sleep(Duration::from_nanos(LONG.0));
        overlap.time(sleep, || 0);
        assert!(overlap.was_long);
        overlap.time(sleep, || 0);
        assert!(!overlap.was_long && !overlap.is_single, "it computed nothing");
    }
}
