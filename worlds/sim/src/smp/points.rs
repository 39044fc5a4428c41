//! Fault points: rare events happen by a seed ([`Park::sometimes`](foregather_machine::Park::sometimes)).
use foregather_machine::SplitMix;

/// How often fault points say yes, and a stream for each thread, so that no thread changes what another
/// draws.
#[derive(Clone, Debug, Default)]
pub(super) struct FaultPoints {
    ppm: u64,
    streams: Vec<SplitMix>,
}

impl FaultPoints {
    /// Points that say yes in `ppm` of a million cases.
    pub(super) fn new(ppm: u32, seed: u64, threads: u32) -> Self {
        let stream = |thread: u32| SplitMix(SplitMix::mix(seed ^ u64::from(thread + 1) << 32));
        Self { ppm: ppm.into(), streams: (0..threads).map(stream).collect() }
    }

    /// Returns whether the thread's next fault point says yes. Draws only if points are on.
    pub(super) fn says_yes(&mut self, thread: u32) -> bool {
        self.ppm > 0 && self.streams.get_mut(thread as usize).is_some_and(|stream| stream.below(1_000_000) < self.ppm)
    }
}
