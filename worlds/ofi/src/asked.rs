//! The answers to a reader that asked where memory stands.
use crate::wire::RemoteMemory;

/// The most pieces of memory of one exposure.
pub(crate) const PIECES_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadReply {
    #[default]
    None,
    Told,
    Refused,
}

/// The one reading that a lane may have under way.
#[derive(Debug, Default)]
pub(crate) struct PeerRead {
    pub(crate) ticket: u32,
    pub(crate) from: usize,
    pub(crate) answer: ReadReply,
    pub(crate) records: Vec<RemoteMemory>,
    /// Reads that libfabric has not ended.
    pub(crate) outstanding: u32,
    pub(crate) failed: bool,
}

impl PeerRead {
    pub(crate) fn begin(&mut self, from: usize) -> u32 {
        *self = Self { ticket: self.ticket.wrapping_add(1), from, ..Self::default() };
        self.ticket
    }

    fn awaits(&self, from: usize, ticket: u32) -> bool {
        self.from == from && self.ticket == ticket && self.answer == ReadReply::None
    }

    /// `false`: the bytes are no records. Answers that are no longer awaited are ignored.
    pub(crate) fn told(&mut self, from: usize, ticket: u32, bytes: &[u8]) -> bool {
        let Some((more, mut records)) = RemoteMemory::read_all(bytes) else { return false };
        if self.awaits(from, ticket) {
            self.records.append(&mut records);
            if !more {
                self.answer = ReadReply::Told;
            }
        }
        self.records.len() <= PIECES_MAX
    }

    pub(crate) fn refused(&mut self, from: usize, ticket: u32) -> bool {
        if self.awaits(from, ticket) {
            self.answer = ReadReply::Refused;
        }
        true
    }

    pub(crate) fn ended(&mut self, failed: bool) {
        self.outstanding -= 1;
        self.failed |= failed;
    }
}
