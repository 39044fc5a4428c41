//! The faults, by name: loss, duplicates, delays, pauses, drifting clocks.
use foregather_machine::{Nanos, Rank, SplitMix};
use std::cell::RefCell;

/// A node whose processor stands still for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The node.
    pub node: Rank,
    /// Its beginning.
    pub from: Nanos,
    /// Its length.
    pub length: Nanos,
}

/// A node whose clock differs from the others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The node.
    pub node: Rank,
    /// How much it gains, in parts per million; the crystals of an iPSC/860 spread over 80.
    pub ppm: i32,
    /// By how much it was ahead at the beginning.
    pub ahead: Nanos,
}

/// Faults, each off unless said otherwise. Rates are in parts per million of all packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Packets that never arrive, although their senders notice nothing.
    pub loss_ppm: u32,
    /// Packets that arrive twice.
    pub duplicate_ppm: u32,
    /// Packets that arrive later by [`Faults::delay`].
    pub delay_ppm: u32,
    /// The length of such a delay.
    pub delay: Nanos,
    /// Nodes that stand still.
    pub pauses: Vec<Pause>,
    /// Clocks that drift.
    pub drifts: Vec<Drift>,
    /// Decides which packets are hit.
    pub seed: u64,
}

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    Lost,
    Twice,
    Late(Nanos),
}

/// The faults of packets, drawn one after the other.
pub(super) struct Fates {
    faults: Faults,
    random: RefCell<SplitMix>,
}

impl Fates {
    /// `None` if no packet is ever hit.
    pub(super) fn new(faults: &Faults) -> Option<Self> {
        let some = faults.loss_ppm > 0 || faults.duplicate_ppm > 0 || faults.delay_ppm > 0;
        some.then(|| Self { faults: faults.clone(), random: RefCell::new(SplitMix(faults.seed)) })
    }

    pub(super) fn draw(&self) -> Fate {
        let drawn = self.random.borrow_mut().below(1_000_000) as u32;
        let Faults { loss_ppm, duplicate_ppm, delay_ppm, delay, .. } = self.faults;
        if drawn < loss_ppm {
            Fate::Lost
        } else if drawn - loss_ppm < duplicate_ppm {
            Fate::Twice
        } else if drawn - loss_ppm - duplicate_ppm < delay_ppm {
            Fate::Late(delay)
        } else {
            Fate::Arrives
        }
    }
}

impl Drift {
    /// The clock's time at `time`.
    pub(super) fn shown(&self, time: Nanos) -> Nanos {
        let gained = i128::from(time.0) * i128::from(self.ppm) / 1_000_000;
        Nanos((i128::from(time.0) + gained) as u64) + self.ahead
    }

    /// The true length of a span of its clock.
    pub(super) fn really(&self, span: Nanos) -> Nanos {
        Nanos((i128::from(span.0) * 1_000_000 / (1_000_000 + i128::from(self.ppm))) as u64)
    }
}
