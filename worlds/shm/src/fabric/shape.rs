//! How much memory a fabric needs, and where its parts are.
use super::exposure::Exposure;
use super::pieces::GATHER;
use super::ring::{INLINE, Slot};
use super::stage::STAGE;
use core::mem::size_of;
use foregather_machine::{Cause, Error, Limits};

/// Bytes of a static buffer, and of a page.
pub(crate) const BUFFER: usize = 4_096;
/// The maximum number of static buffers per channel: the sender tracks free ones in 64 bits.
const MOST_BUFFERS: u32 = 64;
/// Frames beyond one for each credit.
const EXTRA: u32 = 18;
/// The maximum number of lanes of all ranks: as many as there are bits in a line.
pub(crate) const MOST_PORTS: u32 = 1_024;
/// The maximum memory of all channels together after every page has been touched.
const BUDGET: usize = 1 << 30;
pub(crate) const LINE: usize = 128;

/// The number of ranks and lanes, and their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpec {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of lanes per rank.
    pub lanes: u32,
    /// The maximum number of bytes for the channels between lanes. Pages use memory only after they are
    /// touched, and a sender reuses the same few buffers, so it is far less in practice. If the budget is
    /// small for the number of lanes, each channel has fewer credits.
    pub budget: usize,
    /// Whether memory may be read directly if the system allows it. Otherwise all data goes through static
    /// buffers.
    pub direct: bool,
}

/// The offset of each part in bytes. Each part begins at a pair of cache lines, the buffers at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) shape: SegmentSpec,
    pub(crate) ports: usize,
    pub(crate) credits: u32,
    pub(crate) slots: usize,
    pub(crate) ring_bytes: usize,
    pub(crate) members: usize,
    pub(crate) port_lines: usize,
    pub(crate) rosters: usize,
    pub(crate) exposures: usize,
    pub(crate) stages: usize,
    pub(crate) rings: usize,
    pub(crate) buffers: usize,
    pub(crate) bytes: usize,
}

/// Lines of a port: its bell, its state, and the ports that have sent to it.
pub(crate) const PORT_LINES: usize = 3;
/// The maximum number of exposures per lane: the lane tracks free ones in 64 bits.
pub(crate) const EXPOSURES: usize = 64;

impl SegmentSpec {
    /// Creates the description for a budget of 1 GiB: 64 ranks with 4 lanes get 2 credits per channel, 15
    /// ranks with 4 lanes get the maximum of 63.
    pub const fn new(ranks: u32, lanes: u32) -> Self {
        Self { ranks, lanes, budget: BUDGET, direct: true }
    }

    /// # Errors
    /// [`Cause::Setting`] for no ranks or lanes, or too many.
    pub(crate) fn layout(self) -> Result<Layout, Error> {
        let setting = |what, needs| Error::from(Cause::Setting { what, needs });
        let ports = self.ranks.checked_mul(self.lanes).filter(|ports| (1..=MOST_PORTS).contains(ports));
        let ports = ports.ok_or_else(|| setting("the number of ranks times that of their lanes", "1 to 1024"))? as usize;
        let fits = |credits: u32| ports * ports * pair_bytes(credits) <= self.budget;
        let credits = (1..MOST_BUFFERS).rev().find(|&credits| fits(credits)).ok_or_else(|| {
            setting("the memory for so many lanes", "a larger budget, or fewer lanes: each pair of them takes 10 KiB at least")
        })?;
        let members = BUFFER;
        let port_lines = members + self.ranks as usize * LINE;
        let rosters = port_lines + ports * PORT_LINES * LINE;
        let exposures = rosters + self.lanes as usize * (1 + self.ranks as usize) * LINE;
        let stages = (exposures + ports * EXPOSURES * size_of::<Exposure>()).next_multiple_of(BUFFER);
        let rings = stages + ports * STAGE;
        let buffers = (rings + ports * ports * ring_bytes(credits)).next_multiple_of(BUFFER);
        Ok(Layout {
            shape: self,
            ports,
            credits,
            slots: slots(credits) as usize,
            ring_bytes: ring_bytes(credits),
            members,
            port_lines,
            rosters,
            exposures,
            stages,
            rings,
            buffers,
            bytes: buffers + ports * ports * (credits as usize + 1) * BUFFER,
        })
    }
}

impl Layout {
    /// Returns the limits of its lanes, if the system's permission for direct reads is `direct`.
    pub(crate) fn limits(&self, direct: bool) -> Limits {
        Limits {
            lanes: self.shape.lanes,
            inline: INLINE,
            buffer: BUFFER,
            credits: self.credits,
            spare: self.slots as u32 - self.credits,
            gather: GATHER,
            direct,
        }
    }

    /// Returns the offset of the ring from one port to another. All rings towards a port are adjacent,
    /// because that port polls all of them.
    pub(crate) fn ring(&self, from: usize, to: usize) -> usize {
        self.rings + (to * self.ports + from) * self.ring_bytes
    }

    /// Returns the offset of a static buffer from one port to another.
    pub(crate) fn buffer(&self, from: usize, to: usize, index: usize) -> usize {
        self.buffers + ((to * self.ports + from) * (self.credits as usize + 1) + index) * BUFFER
    }
}

const fn slots(credits: u32) -> u32 {
    2 * credits + EXTRA
}

/// Returns the bytes of a ring: a line for the count of released frames, and the slots.
const fn ring_bytes(credits: u32) -> usize {
    LINE + slots(credits) as usize * size_of::<Slot>()
}

/// Returns the bytes of a channel: its ring, and one buffer more than credits, to fill while all others are
/// in flight.
const fn pair_bytes(credits: u32) -> usize {
    ring_bytes(credits) + (credits as usize + 1) * BUFFER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_go_down_with_the_number_of_lanes_and_the_memory_stays_bounded() {
        let credits = |ranks, lanes| SegmentSpec::new(ranks, lanes).layout().unwrap().credits;
        assert_eq!([credits(1, 1), credits(2, 1), credits(15, 4), credits(64, 1), credits(64, 4)], [63, 63, 63, 58, 2]);
        for (ranks, lanes) in [(1, 1), (2, 4), (15, 4), (64, 4), (300, 1)] {
            let layout = SegmentSpec::new(ranks, lanes).layout().unwrap();
            assert!(layout.bytes <= BUDGET + layout.rings + BUFFER, "{layout:?}");
            let limits = layout.limits(true);
            assert!(limits.spare >= limits.credits + 16, "{limits:?}");
        }
    }

    #[test]
    fn parts_follow_each_other_and_begin_at_lines() {
        let layout = SegmentSpec::new(3, 2).layout().unwrap();
        let parts = [
            layout.members,
            layout.port_lines,
            layout.rosters,
            layout.exposures,
            layout.stages,
            layout.rings,
            layout.buffers,
            layout.bytes,
        ];
        assert!(
            parts.is_sorted() && parts.iter().all(|part| part.is_multiple_of(LINE)) && layout.buffers.is_multiple_of(BUFFER),
            "{layout:?}"
        );
        assert_eq!(layout.ring(5, 5) + layout.ring_bytes, layout.rings + 36 * layout.ring_bytes);
        assert_eq!(layout.buffer(5, 5, layout.credits as usize) + BUFFER, layout.bytes);
    }

    #[test]
    fn impossible_shapes_are_errors() {
        for (ranks, lanes) in [(0, 1), (1, 0), (1_025, 1), (u32::MAX, u32::MAX), (600, 1)] {
            assert!(
                matches!(Error::of(&SegmentSpec::new(ranks, lanes).layout()), Some(Cause::Setting { .. })),
                "{ranks} of {lanes}"
            );
        }
    }
}
