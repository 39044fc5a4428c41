//! The settings of a messenger, and the limits that it computes for itself.
use super::frame::STAGE;
use crate::link::Terms;
use foregather_machine::{Cause, Error, FabricCosts, Limits};
use foregather_wait::Policy;

/// The way of large CHEAPER pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// The cheaper one, by the costs of this fabric's ways.
    #[default]
    Chosen,
    /// Through static buffers, one after the other, copies and all.
    Buffered,
    /// From memory to memory, however small.
    Direct,
}

/// How a messenger works; `Settings::default()` is right for most uses.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How it waits; `None` for the adaptive policy with the costs that its world knows.
    pub policy: Option<Policy>,
    /// The way of large pieces.
    pub path: Path,
    /// From how many bytes on a piece goes directly; `None` to compute it ([`direct_from`]).
    pub direct_at: Option<usize>,
    /// How many frames one peer may leave untaken; `None` for as many as the fabric has room for.
    pub credits: Option<u32>,
    /// When a peer has no more than this many credits left they are returned alone; `None` for a quarter of
    /// them.
    pub alert: Option<u32>,
    /// Slots for null messages.
    pub slots: u32,
    /// How many bytes of messages are kept that the program has not asked for. Later ones stay with their
    /// senders, which then wait.
    pub kept_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { policy: None, path: Path::Chosen, direct_at: None, credits: None, alert: None, slots: 64, kept_bytes: 1 << 30 }
    }
}

/// Settings that were checked against a fabric.
#[derive(Clone, Copy)]
pub(super) struct CheckedSettings {
    /// Credits of a connection.
    pub(super) terms: Terms,
    /// The longest frame without a static buffer, the size of such a buffer, and the most pieces of an offer.
    pub(super) inline: usize,
    pub(super) buffer: usize,
    pub(super) gather: usize,
    pub(super) direct_at: usize,
    pub(super) kept_bytes: usize,
    /// Whether there are spare frames to look for cycles of waiting ranks (deadlocks).
    pub(super) chases: bool,
    /// How many offers one peer may leave unfetched: each may be answered by a frame that costs no credit.
    pub(super) open: u32,
    /// Whether there is a spare frame to answer a packet whose memory the sender exposes.
    pub(super) lends: bool,
}

impl Settings {
    pub(super) fn rules(&self, limits: &Limits, tolls: impl FnOnce() -> FabricCosts) -> Result<CheckedSettings, Error> {
        let full = self.credits.unwrap_or_else(|| limits.credits.min(255));
        if full == 0 || full > limits.credits || full > 255 {
            let needs = "at least 1, and no more than the fabric has buffers, or 255";
            return Err(Cause::Setting { what: "the number of credits", needs }.into());
        }
        let alert = self.alert.unwrap_or(full / 4);
        // Credits that travel alone need room beside the frames that they return: one frame for each stretch
        // between two alerts.
        if alert >= full || full.div_ceil(full - alert) + SPARE > limits.spare {
            return Err(
                Cause::Setting { what: "the alert level", needs: "below the credits, and lower in a narrow fabric" }.into()
            );
        }
        let direct_at = match self.path {
            _ if !limits.direct => usize::MAX,
            Path::Buffered => usize::MAX,
            Path::Direct => 1,
            Path::Chosen => self.direct_at.unwrap_or_else(|| direct_from(limits, &tolls())),
        };
        let left = limits.spare - full.div_ceil(full - alert) - SPARE;
        let chases = CHASES <= left;
        let left = if chases { left - CHASES } else { left };
        let lends = left > 0;
        // One of the answers is among the spare frames that every messenger needs.
        let open = 1 + left - u32::from(lends);
        Ok(CheckedSettings {
            terms: Terms { full, alert },
            inline: limits.inline.min(STAGE),
            buffer: limits.buffer,
            gather: limits.gather.clamp(1, (limits.buffer - 8) / 10),
            direct_at,
            kept_bytes: self.kept_bytes,
            chases,
            open,
            lends,
        })
    }
}

/// Frames that go without a credit, beside credits: fetched, giving up, going away.
const SPARE: u32 = 3;
/// Frames of chases that may be on their way to a rank, one of each kind: without room for them there are no
/// chases.
const CHASES: u32 = 3;

/// From how many bytes on reading a piece from memory is cheaper than sending it through static buffers. The
/// 512 B, 4 KiB and 32 KiB of 1999 and those of today come from the same two slopes.
pub fn direct_from(limits: &Limits, tolls: &FabricCosts) -> usize {
    let buffered = |bytes: usize| {
        let full = (bytes / limits.buffer) as u64;
        full * tolls.buffered.of(limits.buffer).0 + tolls.buffered.of(bytes % limits.buffer).0
    };
    let cheaper = |bytes: usize| tolls.direct.of(bytes).0 < buffered(bytes);
    let step = |power: u32| 64_usize << power;
    (0..=24).map(step).find(|&bytes| cheaper(bytes)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::{Nanos, Slope};

    const LIMITS: Limits = Limits { lanes: 1, inline: 56, buffer: 4_096, credits: 16, spare: 16, gather: 64, direct: true };

    fn costs(frame: (u64, u64), direct: (u64, u64)) -> FabricCosts {
        let slope = |(fixed, byte_ps)| Slope { fixed: Nanos(fixed), byte_ps };
        FabricCosts { buffered: slope(frame), direct: slope(direct) }
    }

    #[test]
    fn the_threshold_follows_the_costs() {
        let today = direct_from(&LIMITS, &costs((100, 150), (800, 40)));
        assert!((4_096..=16_384).contains(&today), "{today}");
        let dear = direct_from(&LIMITS, &costs((100, 150), (5_000, 40)));
        assert!(dear > today, "{dear}");
        assert_eq!(direct_from(&LIMITS, &costs((100, 40), (800, 150))), usize::MAX);
    }

    #[test]
    fn impossible_settings_are_errors() {
        let rules = |settings: Settings| settings.rules(&LIMITS, || costs((1, 1), (1, 1)));
        assert!(rules(Settings::default()).is_ok());
        assert!(rules(Settings { credits: Some(17), ..Settings::default() }).is_err());
        assert!(rules(Settings { credits: Some(0), ..Settings::default() }).is_err());
        assert!(rules(Settings { credits: Some(2), alert: Some(2), ..Settings::default() }).is_err());
        assert_eq!(rules(Settings { path: Path::Direct, ..Settings::default() }).map(|rules| rules.direct_at).ok(), Some(1));
    }
}
