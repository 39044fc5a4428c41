//! The pieces of a message: how each is sent and received, and how that is told to the other side (Namyst et
//! al. 1999 §2).
use core::cell::Cell;
use core::fmt;

/// How a piece was sent; the receiver must name the same mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// [`Safer`].
    Safer,
    /// [`Later`].
    Later,
    /// [`Cheaper`].
    Cheaper,
}

/// When a piece must be there at the receiver. Both sides say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receive {
    /// When `unpack_express` returns: what the receiver needs to go on unpacking, such as lengths. It cuts
    /// what could be sent at once.
    Express,
    /// When the message ends, which leaves most freedom.
    Cheaper,
}

/// `send_SAFER`: copied before `pack` returns; the memory may be used again at once.
#[derive(Clone, Copy, Debug)]
pub struct Safer<'a>(pub &'a [u8]);

/// `send_CHEAPER`: borrowed until the message has ended, so that it need not be copied.
#[derive(Clone, Copy, Debug)]
pub struct Cheaper<'m>(pub &'m [u8]);

/// `send_LATER`: read when the message ends; bytes written to the cells before that are sent. Neither this
/// piece nor any behind it leaves before. [`Cell::from_mut`] and [`Cell::as_slice_of_cells`] make cells of a
/// slice.
#[derive(Clone, Copy)]
pub struct Later<'m>(pub &'m [Cell<u8>]);

/// Something that can be packed.
pub trait Piece<'m>: sealed::Piece<'m> {}
impl<'m, P: sealed::Piece<'m>> Piece<'m> for P {}

pub(super) mod sealed {
    use super::{Cell, Cheaper, Later, Mode, Safer};

    /// Bytes, by how long they may be looked at.
    pub enum Bytes<'a, 'm> {
        /// Now only.
        Now(&'a [u8]),
        /// Until the message ends.
        Lasting(&'m [u8]),
        /// When the message ends, and not before.
        AtEnd(&'m [Cell<u8>]),
    }

    pub trait Piece<'m> {
        const MODE: Mode;
        fn bytes(&self) -> Bytes<'_, 'm>;
    }

    impl<'m> Piece<'m> for Safer<'_> {
        const MODE: Mode = Mode::Safer;
        #[inline]
        fn bytes(&self) -> Bytes<'_, 'm> {
            Bytes::Now(self.0)
        }
    }
    impl<'m> Piece<'m> for Cheaper<'m> {
        const MODE: Mode = Mode::Cheaper;
        #[inline]
        fn bytes(&self) -> Bytes<'_, 'm> {
            Bytes::Lasting(self.0)
        }
    }
    impl<'m> Piece<'m> for Later<'m> {
        const MODE: Mode = Mode::Later;
        #[inline]
        fn bytes(&self) -> Bytes<'_, 'm> {
            Bytes::AtEnd(self.0)
        }
    }
}

/// Marks a length that does not fit into 13 bits; the length follows.
const LONG: u16 = 0x1fff;
/// Bytes of a shape without a following length, and of that length.
pub(super) const SHORT: usize = 2;
pub(super) const LENGTH: usize = 8;

/// The properties that both sides must agree on: modes and length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PieceFormat {
    pub(super) mode: Mode,
    pub(super) receive: Receive,
    pub(super) bytes: usize,
}

impl PieceFormat {
    /// The short form: two bits of send mode, one of receive mode, 13 of length.
    #[inline]
    pub(super) const fn short(self) -> u16 {
        let length = if self.is_long() { LONG } else { self.bytes as u16 };
        self.mode as u16 | (matches!(self.receive, Receive::Express) as u16) << 2 | length << 3
    }

    /// Returns whether the length of the piece follows in the frame.
    #[inline]
    pub(super) const fn is_long(self) -> bool {
        self.bytes >= LONG as usize
    }

    /// Reads the rest of the sender's shape behind its short form; `None` if no sender writes that.
    #[inline]
    pub(super) fn read(short: u16, length: impl FnOnce() -> Option<[u8; LENGTH]>) -> Option<Self> {
        let mode = [Mode::Safer, Mode::Later, Mode::Cheaper];
        let mode = *mode.get(usize::from(short & 3))?;
        let receive = if short & 4 == 0 { Receive::Cheaper } else { Receive::Express };
        let bytes = match short >> 3 {
            LONG => usize::try_from(u64::from_le_bytes(length()?)).ok()?,
            bytes => usize::from(bytes),
        };
        Some(Self { mode, receive, bytes })
    }
}

/// Its form in errors about disagreements.
impl fmt::Display for PieceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, sent {:?} and received {:?},", self.bytes, self.mode, self.receive)
    }
}

/// A value that fits an EXPRESS piece: fixed size, little-endian on the wire.
pub trait WireValue: Sized {
    /// The value's bytes on the wire.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy;
    /// Bytes before any were received.
    const EMPTY: Self::Bytes;
    /// The bytes to send, as [`Safer`].
    fn to_bytes(self) -> Self::Bytes;
    /// The value of received bytes.
    fn from_bytes(bytes: Self::Bytes) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl WireValue for $number {
            type Bytes = [u8; size_of::<$number>()];
            const EMPTY: Self::Bytes = [0; size_of::<$number>()];
            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
            #[inline]
            fn from_bytes(bytes: Self::Bytes) -> Self {
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

impl<const N: usize> WireValue for [u8; N] {
    type Bytes = Self;
    const EMPTY: Self = [0; N];
    #[inline]
    fn to_bytes(self) -> Self {
        self
    }
    #[inline]
    fn from_bytes(bytes: Self) -> Self {
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_as_it_was_written() {
        for mode in [Mode::Safer, Mode::Later, Mode::Cheaper] {
            for receive in [Receive::Express, Receive::Cheaper] {
                for bytes in [0, 1, 8_190, 8_191, 1 << 40] {
                    let shape = PieceFormat { mode, receive, bytes };
                    let length = || shape.is_long().then_some((bytes as u64).to_le_bytes());
                    assert!(PieceFormat::read(shape.short(), length) == Some(shape), "{shape}");
                }
            }
        }
    }

    #[test]
    fn a_mode_that_nobody_has_is_refused() {
        assert!(PieceFormat::read(3, || None).is_none());
        assert!(PieceFormat::read(LONG << 3, || None).is_none());
    }
}
