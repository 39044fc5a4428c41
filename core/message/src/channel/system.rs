//! What a member does for others in every wait: it takes in what has come, whether its program asked for it or not.
//!
//! So every message that was sent finds room in the end, and two members that only send never wait for each other.
use super::stream::Stream;
use crate::inbox::Inbox;
use crate::long;
use foregather_machine::{Cause, Cpu, Error, Packet, Rank, VALUE_MASK};

/// Bits of a header's length, and with it the longest message, in bytes.
const LENGTH_BITS: u32 = 29;
/// The longest message, in bytes.
pub(super) const LONGEST: usize = (1 << LENGTH_BITS) - 1;

/// The word that precedes a message's bytes: packet (3 bits), length (29), tag (32).
pub(super) fn header(packet: Packet, tag: u32, bytes: usize) -> u64 {
    let number = Packet::ALL.iter().position(|&of| of == packet).unwrap_or(0);
    ((number << LENGTH_BITS | bytes) as u64) << 32 | u64::from(tag)
}

fn read_header(word: u64) -> (Packet, u32, usize) {
    let above = (word >> 32) as usize;
    (Packet::ALL[(above >> LENGTH_BITS) % Packet::ALL.len()], word as u32, above & LONGEST)
}

/// Bytes, still in words.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: usize,
    words: Vec<u64>,
}

impl Message {
    /// Copies it to where the program wants it; how long it was.
    pub(super) fn copy_to(&self, into: &mut [u8]) -> Result<usize, Error> {
        let room = into.len();
        let Some(into) = into.get_mut(..self.bytes) else {
            return Err(Cause::Length { what: "the message that came", bytes: self.bytes, room }.into());
        };
        let (whole, rest) = into.as_chunks_mut::<8>();
        whole.iter_mut().zip(&self.words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        if let Some(last) = self.words.last() {
            rest.copy_from_slice(&last.to_le_bytes()[..rest.len()]);
        }
        Ok(self.bytes)
    }
}

/// A message of which some words are still to come.
struct Arriving {
    packet: Packet,
    tag: u32,
    /// Words to come.
    left: u32,
    /// `None` if nobody will want it.
    kept: Option<Message>,
}

/// How far the stream of one peer was read.
#[derive(Default)]
struct Incoming {
    taken: u32,
    arriving: Option<Arriving>,
}

/// One member's system.
pub(super) struct System {
    pub(super) inbox: Inbox<Message>,
    incoming: Box<[Incoming]>,
    /// Answers that are to be sent as soon as there is room: to whom, what, and under which tag.
    pub(super) owed: Vec<(Rank, Packet, u32)>,
}

impl System {
    pub(super) fn new(size: u32) -> Self {
        Self { inbox: Inbox::default(), incoming: (0..size).map(|_| Incoming::default()).collect(), owed: Vec::new() }
    }

    /// Takes in all that `from` has sent; whether its bell must be rung is told to `room`.
    pub(super) fn take_in<C: Cpu>(&mut self, cpu: &C, stream: &Stream<C>, from: Rank, room: impl Fn()) -> Result<(), Error> {
        loop {
            let before = self.incoming[from as usize].taken;
            let count = stream.filled(cpu, before).min(stream.piece());
            if count == 0 {
                return Ok(());
            }
            let taken = self.read(stream, from, before, count)?;
            self.incoming[from as usize].taken = taken;
            if stream.give_back(cpu, before, taken) {
                room();
            }
        }
    }

    /// Reads so many words, of one message or of several; how far it has come.
    fn read<C: Cpu>(&mut self, stream: &Stream<C>, from: Rank, before: u32, count: u32) -> Result<u32, Error> {
        let (mut at, mut left) = (before, count);
        while left > 0 {
            let mut arriving = match self.incoming[from as usize].arriving.take() {
                Some(arriving) => arriving,
                None => {
                    let first = stream.words_at(at, 1).fold(0, |_, word| word);
                    (at, left) = (at.wrapping_add(1), left - 1);
                    self.begin(from, first)?
                }
            };
            let now = arriving.left.min(left);
            if let Some(message) = &mut arriving.kept {
                message.words.extend(stream.words_at(at, now));
            }
            (at, left, arriving.left) = (at.wrapping_add(now), left - now, arriving.left - now);
            if arriving.left > 0 {
                self.incoming[from as usize].arriving = Some(arriving);
            } else if let Some(message) = arriving.kept {
                self.inbox.arrive(arriving.packet, (from, arriving.tag), message);
                self.owed.extend(long::answer(arriving.packet).map(|answer| (from, answer, arriving.tag)));
            }
        }
        Ok(at & VALUE_MASK)
    }

    fn begin(&mut self, from: Rank, first: u64) -> Result<Arriving, Error> {
        let (packet, tag, bytes) = read_header(first);
        let mut message = Message { bytes, words: Vec::new() };
        let kept = self.inbox.admits(packet, (from, tag));
        if kept && message.words.try_reserve_exact(bytes.div_ceil(8)).is_err() {
            return Err(Cause::Length { what: "a message that came", bytes, room: 0 }.into());
        }
        Ok(Arriving { packet, tag, left: bytes.div_ceil(8) as u32, kept: kept.then_some(message) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_keeps_what_it_was_told() {
        for packet in Packet::ALL {
            for (tag, bytes) in [(0, 0), (u32::MAX, LONGEST), (7, 100)] {
                assert_eq!(read_header(header(packet, tag, bytes)), (packet, tag, bytes));
            }
        }
    }
}
