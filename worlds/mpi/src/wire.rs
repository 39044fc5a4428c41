//! The format of frames, and the tags of a group of lanes.
use core::ffi::c_int;

/// Length of a frame's header in bytes: a number for the layer above (4), the group's number (2), the kind
/// (1), the sender's lane (1).
pub(crate) const HEAD: usize = 8;
/// The maximum length of an inline frame in bytes: enough for a header of the layer above.
pub(crate) const INLINE: usize = 240;
/// Length of a static buffer in bytes, so that a message of 16 KiB with its own header fits into one frame.
pub(crate) const BUFFER: usize = 16_632;
/// The number of frames with a credit, and without one, that a lane may have under way to another lane.
pub(crate) const CREDITS: u32 = 16;
pub(crate) const SPARE: u32 = 32;

/// The maximum number of lanes of a rank.
pub(crate) const LANES_MAX: u32 = 128;
/// The number of groups with different tags. MPI guarantees tags up to 32,767, and each group uses two per
/// lane: one for frames and one for memory.
const GROUPS: u32 = 127;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MpiFrameKind {
    /// A frame for the layer above.
    Message,
    /// The sender will send no more frames.
    Bye,
    /// A request to read memory: the number is a ticket, the payload a key and a length.
    Ask,
    /// The answer to a request for memory that is not exposed or is shorter. The number is the ticket.
    Unexposed,
}

const KINDS: [MpiFrameKind; 4] = [MpiFrameKind::Message, MpiFrameKind::Bye, MpiFrameKind::Ask, MpiFrameKind::Unexposed];

/// The tags of a group of lanes, derived from its number. Tags repeat after 127 groups, so frames also carry
/// 16 bits of the group's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags(pub(crate) u32);

impl Tags {
    /// Returns the tag of frames to `lane`.
    pub(crate) fn frames(self, lane: u32) -> c_int {
        (self.0 % GROUPS * 2 * LANES_MAX + lane) as c_int
    }
    /// Returns the tag of memory that `lane` reads.
    pub(crate) fn memory(self, lane: u32) -> c_int {
        self.frames(lane) + LANES_MAX as c_int
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) number: u32,
    pub(crate) group: u16,
    pub(crate) kind: MpiFrameKind,
    pub(crate) lane: u8,
}

impl FrameHead {
    pub(crate) fn write(self, into: &mut [u8]) {
        into[..4].copy_from_slice(&self.number.to_ne_bytes());
        into[4..6].copy_from_slice(&self.group.to_ne_bytes());
        into[6] = self.kind as u8;
        into[7] = self.lane;
    }

    /// Parses a header. Returns `None` if no lane of this version sends such a frame.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let (number, rest) = frame.split_first_chunk()?;
        let (group, rest) = rest.split_first_chunk()?;
        let (kind, lane) = (KINDS.get(usize::from(*rest.first()?))?, *rest.get(1)?);
        Some(Self { number: u32::from_ne_bytes(*number), group: u16::from_ne_bytes(*group), kind: *kind, lane })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_nonsense_is_none() {
        for kind in KINDS {
            let head = FrameHead { number: 0xdead_beef, group: 513, kind, lane: 7 };
            let mut bytes = [0; HEAD];
            head.write(&mut bytes);
            assert_eq!(FrameHead::read(&bytes), Some(head));
            assert_eq!(FrameHead::read(&bytes[..HEAD - 1]), None);
        }
        assert_eq!(FrameHead::read(&[9; HEAD]), None);
    }

    #[test]
    fn tags_stay_within_what_every_mpi_allows_and_differ() {
        let all: std::collections::BTreeSet<_> = (0..GROUPS)
            .flat_map(|group| (0..LANES_MAX).flat_map(move |lane| [Tags(group).frames(lane), Tags(group).memory(lane)]))
            .collect();
        assert_eq!(all.len(), (GROUPS * 2 * LANES_MAX) as usize);
        assert!(all.iter().all(|tag| (0..=32_767).contains(tag)));
        assert_eq!(Tags(3).frames(1), Tags(3 + GROUPS).frames(1));
    }

    #[test]
    fn bytes_after_the_head_are_aligned() {
        assert!(HEAD.is_multiple_of(8) && (HEAD + BUFFER).is_multiple_of(64));
    }
}
