//! A short history of durations; the oldest is forgotten first.
use foregather_machine::Nanos;

/// A ring of the last `N` durations.
pub(super) struct History<const N: usize> {
    times: [Nanos; N],
    seen: usize,
}

impl<const N: usize> History<N> {
    pub(super) const fn new() -> Self {
        Self { times: [Nanos::ZERO; N], seen: 0 }
    }

    pub(super) fn push(&mut self, time: Nanos) {
        self.times[self.seen % N] = time;
        self.seen = self.seen.wrapping_add(1);
    }

    /// Returns the number of durations ever recorded.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// Returns the remembered durations, in no particular order.
    pub(super) fn times(&self) -> impl Iterator<Item = Nanos> + Clone {
        self.times.iter().take(self.seen).copied()
    }

    /// Returns the median of the durations below `limit`, or `None` if there are none. Of two in the middle,
    /// it returns the longer one.
    pub(super) fn median_below(&self, limit: Nanos) -> Option<Nanos> {
        let (mut kept, mut count) = ([Nanos::ZERO; N], 0);
        for time in self.times().filter(|&time| time < limit) {
            kept[count] = time;
            count += 1;
        }
        let kept = &mut kept[..count];
        kept.sort_unstable();
        kept.get(count / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_the_median_leaves_out_what_is_too_long() {
        let mut history = History::<3>::new();
        assert_eq!((history.times().count(), history.median_below(Nanos::MAX)), (0, None));
        for time in [50, 7, 9] {
            history.push(Nanos(time));
        }
        assert_eq!(history.median_below(Nanos(100)), Some(Nanos(9)));
        assert_eq!(history.median_below(Nanos(50)), Some(Nanos(9)), "of 7 and 9 the longer");
        assert_eq!(history.median_below(Nanos(7)), None);
        history.push(Nanos(8));
        assert_eq!((history.seen(), history.times().count()), (4, 3));
        assert_eq!(history.median_below(Nanos(100)), Some(Nanos(8)), "50 is forgotten");
    }
}
