//! Records: what the ring consists of.
use foregather_machine::ByteStore;

/// Records begin at multiples of this: a cache line.
pub(super) const UNIT: usize = 64;
/// Bytes of a header.
pub(super) const HEADER: usize = 32;

/// The beginning of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the message in this record.
    pub(super) bytes: u32,
    pub(super) kind: RecordKind,
    /// Bytes of the whole message.
    pub(super) total: u64,
    /// The number of the message, from 0 on.
    pub(super) message: u64,
    /// The position of the record, which never comes again: tells it from one of an earlier lap.
    pub(super) position: u64,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// The rest of the ring before its end, in which no record has room.
    Padding,
    /// The first or only part of a message.
    First,
    /// A further part.
    Further,
}

impl Header {
    /// The units of the record.
    pub(super) fn units(&self) -> u32 {
        units(self.bytes as usize)
    }

    /// Returns whether it holds a whole message.
    pub(super) fn is_whole(&self) -> bool {
        self.kind == RecordKind::First && u64::from(self.bytes) == self.total
    }

    pub(super) fn store(&self, bytes: &impl ByteStore, at: usize) {
        let kind = match self.kind {
            RecordKind::Padding => 0_u64,
            RecordKind::First => 1,
            RecordKind::Further => 2,
        };
        let mut header = [0; HEADER];
        let words = [u64::from(self.bytes) | kind << 32, self.total, self.message, self.position];
        for (to, word) in header.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes.store(at, &header);
    }

    /// The header there; `None` if there is none that a writer writes.
    pub(super) fn load(bytes: &impl ByteStore, at: usize) -> Option<Self> {
        let mut header = [0; HEADER];
        bytes.load(at, &mut header);
        let word = |number: usize| u64::from_le_bytes(core::array::from_fn(|at| header[number * 8 + at]));
        let kind = match word(0) >> 32 {
            0 => RecordKind::Padding,
            1 => RecordKind::First,
            2 => RecordKind::Further,
            _ => return None,
        };
        Some(Self { bytes: word(0) as u32, kind, total: word(1), message: word(2), position: word(3) })
    }
}

/// The units of a record with that many bytes of a message.
pub(super) fn units(bytes: usize) -> u32 {
    (HEADER + bytes).div_ceil(UNIT) as u32
}

/// The most bytes of a message in one record of a ring of `room` units: with its header they take half of
/// it.
pub(super) fn most(room: u32) -> usize {
    (room / 2) as usize * UNIT - HEADER
}

/// The most bytes of a message at the writer's own pace: with the padding that may lie in its middle, a
/// longer one would discard its own beginning.
pub(super) fn kept(room: u32) -> usize {
    room as usize * UNIT / 8 * 5
}
