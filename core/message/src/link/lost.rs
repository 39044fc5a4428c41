//! Why a connection has ended: a rank is lost, or gave up.
use foregather_machine::{Cause, Error, Nanos, Rank};

/// The rank that made a connection end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The rank that is to blame.
    pub rank: Rank,
    /// Whether the rank was lost; otherwise, it gave up.
    pub lost: bool,
}

impl Lost {
    /// The rank that an error blames; `None` if it blames none.
    pub fn of(error: &Error) -> Option<Self> {
        match *error.cause() {
            Cause::PeerLost { rank, .. } => Some(Self { rank, lost: true }),
            Cause::Poisoned { by: Some(rank) } | Cause::PoisonedLock { by: rank } | Cause::Closed { peer: Some(rank) } => {
                Some(Self { rank, lost: false })
            }
            _ => None,
        }
    }

    /// A rank that gave up.
    #[inline]
    pub const fn on(rank: Rank) -> Self {
        Self { rank, lost: false }
    }

    /// The error of a caller that was `doing` something with the connection; `since` is when the loss was
    /// known.
    pub fn error(self, since: Nanos, doing: &'static str) -> Error {
        let Self { rank, lost } = self;
        if lost { Cause::PeerLost { rank, since, doing }.into() } else { Cause::Poisoned { by: Some(rank) }.into() }
    }

    /// The value in one word.
    pub const fn bits(self) -> u32 {
        self.rank << 1 | self.lost as u32
    }

    /// The value of that word.
    pub const fn from_bits(bits: u32) -> Self {
        Self { rank: bits >> 1, lost: bits & 1 == 1 }
    }

    /// The value as it travels.
    pub const fn pack(self) -> [u8; 4] {
        self.bits().to_le_bytes()
    }

    /// Reads the bytes that rank `from` has sent, in a job of `ranks` ranks. Bytes that name no rank blame
    /// `from` itself.
    pub fn unpack(from: Rank, bytes: &[u8], ranks: u32) -> Self {
        let said = bytes.first_chunk().map(|bytes| Self::from_bits(u32::from_le_bytes(*bytes)));
        said.filter(|said| said.rank < ranks).unwrap_or(Self::on(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blame_is_what_was_said_unless_no_rank_can_have_said_it() {
        for (rank, lost) in [(0, false), (3, true), (63, false)] {
            let blame = Lost { rank, lost };
            assert_eq!(Lost::unpack(1, &blame.pack(), 64), blame);
            assert_eq!(Lost::of(&blame.error(Nanos(7), "waiting")), Some(blame));
        }
        for nonsense in [&[][..], &[0; 3], &[128, 0, 0, 0], &[255; 4]] {
            assert_eq!(Lost::unpack(1, nonsense, 64), Lost::on(1), "{nonsense:?}");
        }
        assert_eq!(Lost::of(&Cause::Rank { rank: 1, size: 1 }.into()), None);
    }
}
