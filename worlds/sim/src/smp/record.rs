//! What a simulation writes down on request: windows of the successful-spin rate, and what each thread did
//! when.
use foregather_machine::{CpuId, Nanos};

/// What a simulation writes down beside the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The length of the windows in which the first job's spins are counted; zero: no windows.
    pub window: Nanos,
    /// How often the states of the first job's threads are counted; zero: never.
    pub sample: Nanos,
    /// The most spans that are kept: what each thread did from when to when. 0: none.
    pub spans: usize,
}

impl Record {
    /// Nothing is written down.
    pub const NOTHING: Self = Self { window: Nanos::ZERO, sample: Nanos::ZERO, spans: 0 };
}

/// What a simulation has written down.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Spins of the first job, window by window.
    pub windows: Vec<Window>,
    /// The states of the first job's threads, sample by sample.
    pub samples: Vec<Sample>,
    /// What each thread did, in the order of the ends.
    pub spans: Vec<Span>,
    /// When epochs began (Linux 2.4); at most as many as there may be spans.
    pub epochs: Vec<Nanos>,
}

/// The spins that ended in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Spins that succeeded.
    pub succeeded: u64,
    /// Spins that did not.
    pub failed: u64,
}

impl Window {
    /// The successful-spin rate in percent; `None` if nothing ended here.
    pub fn ssr_percent(&self) -> Option<f64> {
        let all = self.succeeded + self.failed;
        (all > 0).then(|| 100.0 * self.succeeded as f64 / all as f64)
    }
}

/// What the first job's threads were doing at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Threads by [`State`]: computing, spinning, ready, blocked.
    pub states: [u32; 4],
    /// How many different processors they ran on last: the native set of Tsafrir & Feitelson 2002 §4.1.
    pub native: u32,
}

foregather_machine::named! {
    /// What a thread does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum State {
        /// It computes, or its processor switches to it.
        Compute = "computing",
        /// It spins on a word.
        Spin = "spinning",
        /// It could run, and has no processor.
        Ready = "ready",
        /// It sleeps until it is woken or its bound passes.
        Blocked = "blocked",
    }
}

/// What one thread did for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The thread; threads are numbered job by job.
    pub thread: u32,
    /// Its processor, or the last one.
    pub cpu: CpuId,
    /// What it did.
    pub state: State,
    /// When it began.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
}

/// When the first job's threads fell into step for good (the transition point of Tsafrir & Feitelson 2002
/// §4.1): the first window from which on no window has less than `percent` of successful spins.
pub fn transition(windows: &[Window], percent: f64) -> Option<usize> {
    let good = |window: &&Window| window.ssr_percent().is_none_or(|ssr| ssr >= percent);
    let lasting = windows.iter().rev().take_while(good).count();
    let first = windows.len() - lasting;
    (first < windows.len() && windows[first..].iter().any(|w| w.succeeded > 0)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_lasts() {
        let window = |succeeded| Window { succeeded, failed: 100 - succeeded };
        assert_eq!(transition(&[20, 30, 99, 100].map(window), 95.0), Some(2));
        assert_eq!(transition(&[20, 99, 30, 99, 40].map(window), 95.0), None);
        assert_eq!(transition(&[98, 99].map(window), 95.0), Some(0));
        assert_eq!(transition(&[], 95.0), None);
    }
}
