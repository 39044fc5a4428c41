//! The 32 bits before a frame's bytes: its kind, the credits that ride back on it, and 16 bits of its kind's
//! own.

/// The kinds of frames that a protocol has: 16 at most.
pub trait Kinds: Copy + 'static {
    /// All kinds, by number.
    const ALL: &'static [Self];
    /// Returns credits and does nothing else.
    const CREDIT: Self;
    /// Says why the sender has given the link up: a [`Lost`](super::Lost) is its bytes. It costs no credit.
    const ABORT: Self;
    /// The kind's place in [`Kinds::ALL`].
    fn number(self) -> u8;
    /// Returns whether frames of this kind carry credits.
    #[inline]
    fn carries(self) -> bool {
        true
    }
}

/// A frame's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead<K> {
    /// The kind of the frame.
    pub kind: K,
    /// Credits that it returns to its receiver.
    pub credits: u8,
    /// The meaning of these bits is the kind's own.
    pub extra: u16,
}

impl<K: Kinds> FrameHead<K> {
    /// The head as it travels.
    #[inline]
    pub fn pack(self) -> u32 {
        u32::from(self.kind.number()) | u32::from(self.credits) << 4 | u32::from(self.extra) << 16
    }

    /// `None` if no peer of this version sends that.
    #[inline]
    pub fn unpack(bits: u32) -> Option<Self> {
        if bits & 0xf000 != 0 {
            return None;
        }
        let kind = *K::ALL.get((bits & 0xf) as usize)?;
        Some(Self { kind, credits: (bits >> 4) as u8, extra: (bits >> 16) as u16 })
    }
}
