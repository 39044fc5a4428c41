//! What a frame looks like, and which tags a group of lanes has.
use core::ffi::c_int;

/// Bytes before a frame's own: the layer's number (4), the group's (2), the kind (1), the sender's lane (1).
pub(crate) const HEAD: usize = 8;
/// Bytes that are copied at once: a header's worth.
pub(crate) const INLINE: usize = 240;
/// Bytes of a static buffer: a message of 16 KiB with its own head is one frame.
pub(crate) const BUFFER: usize = 16_632;
/// Frames with and without a credit that a lane may have on its way to another.
pub(crate) const CREDITS: u32 = 16;
pub(crate) const SPARE: u32 = 32;

/// The most lanes of a rank.
pub(crate) const LANES_MAX: u32 = 128;
/// MPI promises tags up to 32,767: each group has one for the frames and one for the memory of each lane.
const GROUPS: u32 = 127;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MpiFrameKind {
    /// For the layer above.
    Message,
    /// The sender will post no more.
    Bye,
    /// Send me this: the head is a ticket, the bytes a key and how many.
    Ask,
    /// It is not exposed, or shorter. The head is the ticket.
    Unexposed,
}

const KINDS: [MpiFrameKind; 4] = [MpiFrameKind::Message, MpiFrameKind::Bye, MpiFrameKind::Ask, MpiFrameKind::Unexposed];

/// The tags of a group of lanes. A number is used again after 127 groups, and frames carry more bits of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags(pub(crate) u32);

impl Tags {
    /// Of frames to that lane.
    pub(crate) fn frames(self, lane: u32) -> c_int {
        (self.0 % GROUPS * 2 * LANES_MAX + lane) as c_int
    }
    /// Of memory that this lane reads.
    pub(crate) fn memory(self, lane: u32) -> c_int {
        self.frames(lane) + LANES_MAX as c_int
    }
}

/// A frame's head.
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

    /// `None`: no lane of this version sends that.
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
