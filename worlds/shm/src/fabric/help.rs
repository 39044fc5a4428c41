//! How the exposing side helps with a copy, and which method was recently faster.
use core::cell::Cell;
use foregather_machine::Nanos;

/// What the exposing side does with its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Help {
    /// It copies them to its stage, memory that both sides share, and the getter copies them from there.
    Stages,
    /// It writes them into the getter's memory with system calls.
    Writes,
}

/// The slower method is tried again after at least this many copies; if it takes n times as long, after n
/// times as many, so that trying costs about 3 % of the time.
const TRIED_AGAIN: u32 = 32;

/// Recent times of copies whose lengths lie between two powers of two. Which method is faster depends on
/// caches, on the distance between the processors and on the kernel, and may change when threads move.
#[derive(Default)]
struct LengthTimes {
    /// One entry per method; 0 before the first copy.
    best: [Cell<u32>; 2],
    until_other: Cell<u32>,
}

/// Recent times of a lane's two-sided copies.
pub(crate) struct HelpTimes([LengthTimes; 64]);

impl Default for HelpTimes {
    fn default() -> Self {
        Self(core::array::from_fn(|_| LengthTimes::default()))
    }
}

impl HelpTimes {
    /// Returns the method for the next copy of that length.
    pub(crate) fn choose(&self, bytes: usize) -> Help {
        let of = &self.0[bytes.max(1).ilog2() as usize];
        let [stages, writes] = [&of.best[0], &of.best[1]].map(Cell::get);
        if stages == 0 || writes == 0 {
            return if stages == 0 { Help::Stages } else { Help::Writes };
        }
        let (better, other) = if stages <= writes { (Help::Stages, Help::Writes) } else { (Help::Writes, Help::Stages) };
        let left = of.until_other.get();
        if left > 0 {
            of.until_other.set(left - 1);
            return better;
        }
        let times_as_long = stages.max(writes) / stages.min(writes);
        of.until_other.set(TRIED_AGAIN.saturating_mul(times_as_long));
        other
    }

    /// Records the time of a copy. The shortest recent time is used, because a side may be preempted; each
    /// longer time raises it by at most an eighth.
    pub(crate) fn record(&self, bytes: usize, help: Help, took: Nanos) {
        let best = &self.0[bytes.max(1).ilog2() as usize].best[help as usize];
        let took = u32::try_from(took.0).unwrap_or(u32::MAX).max(1);
        let before = if best.get() == 0 { took } else { best.get() };
        best.set(took.min(before.saturating_add(before / 8 + 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes copies of that length with the given times of both methods; returns how many were staged.
    fn staged(times: &HelpTimes, bytes: usize, copies: u32, [stages, writes]: [u64; 2]) -> u32 {
        let one = |_| {
            let help = times.choose(bytes);
            times.record(bytes, help, Nanos(if help == Help::Stages { stages } else { writes }));
            u32::from(help == Help::Stages)
        };
        (0..copies).map(one).sum()
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_now_and_then() {
        let times = HelpTimes::default();
        let fast = staged(&times, 1 << 20, 1_000, [100, 150]);
        assert!((960..1_000).contains(&fast), "{fast}");
        let other = staged(&times, 1 << 16, 1_000, [1_000, 100]);
        assert!((1..10).contains(&other), "a way that takes ten times as long is tried rarely: {other}");
    }

    #[test]
    fn a_change_is_followed_and_one_long_copy_is_none() {
        let times = HelpTimes::default();
        staged(&times, 1 << 20, 100, [100, 200]);
        times.record(1 << 20, Help::Stages, Nanos::from_ms(4));
        let fast = staged(&times, 1 << 20, 100, [100, 200]);
        assert!(fast > 90, "{fast}");
        staged(&times, 1 << 20, 100, [400, 200]);
        let slow = staged(&times, 1 << 20, 100, [400, 200]);
        assert!(slow < 10, "{slow}");
    }
}
