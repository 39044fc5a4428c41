//! The formats on the wire: the tag of a frame, the address of a rank, and the records of exposed memory.
use foregather_machine::{Cause, Error, Rank};

/// Bytes of the head before a frame's own: a number for the layer above, and the proof that the frame is of
/// this job.
pub(crate) const HEAD: usize = 12;
/// Bytes that are copied at once, whatever the network: a header's worth.
pub(crate) const INLINE: usize = 240;
/// Bytes of a static buffer: with its head as many as layered providers send without asking the receiver
/// first (16 KiB).
pub(crate) const BUFFER: usize = 16_368;
/// Frames with and without a credit that a lane may have on its way to another.
pub(crate) const CREDITS: u32 = 16;
pub(crate) const SPARE: u32 = 32;

/// The version of this wire format.
const VERSION: u8 = 2;
const MAGIC: [u8; 4] = *b"fgof";
/// A random number that a rank drew for its lanes.
pub(crate) type Nonce = [u8; 16];
/// The most lanes of a job: 20 bits tell them apart.
pub(crate) const LANES_MAX: u64 = 1 << 20;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// For the layer above.
    Frame,
    /// The sender will post no more.
    Bye,
    /// A request to read. The head is a ticket; the bytes are a key and a length.
    Ask,
    /// Yes, it stands there. The first byte says whether more records follow.
    Records,
    /// No, not any more.
    Unexposed,
    /// I have read it. The bytes are the key.
    Done,
}

const KINDS: [FrameKind; 6] =
    [FrameKind::Frame, FrameKind::Bye, FrameKind::Ask, FrameKind::Records, FrameKind::Unexposed, FrameKind::Done];

/// A frame's tag: job and version (24 bits), its kind (4), its sender (20), and its number on this way (16).
///
/// Messages of the same two lanes may be completed in another order than they were sent; the number restores
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) kind: FrameKind,
    pub(crate) from: u32,
    pub(crate) number: u16,
}

/// Writes the head before a frame's own bytes.
pub(crate) fn write_head(into: &mut [u8], head: u32, proof: u64) {
    into[..4].copy_from_slice(&head.to_le_bytes());
    into[4..HEAD].copy_from_slice(&proof.to_le_bytes());
}

/// The number for the layer above, the proof, and the rest; `None`: the bytes are too short for a frame.
pub(crate) fn read_head(frame: &[u8]) -> Option<(u32, u64, &[u8])> {
    let (head, rest) = frame.split_first_chunk()?;
    let (proof, rest) = rest.split_first_chunk()?;
    Some((u32::from_le_bytes(*head), u64::from_le_bytes(*proof), rest))
}

/// The result of reading a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagReading {
    Ours(Tag),
    /// A lane of this job sent a kind that no lane of this version sends.
    ProtocolViolation(u32),
    Unverified,
}

impl Tag {
    pub(crate) fn pack(self, stamp: u32) -> u64 {
        u64::from(stamp) << 40 | (self.kind as u64) << 36 | u64::from(self.from) << 16 | u64::from(self.number)
    }

    /// Reads a tag; `lanes` is the number of lanes in the job.
    pub(crate) fn read(bits: u64, stamp: u32, lanes: usize) -> TagReading {
        let from = (bits >> 16 & (LANES_MAX - 1)) as u32;
        if (bits >> 40) as u32 != stamp || from as usize >= lanes {
            return TagReading::Unverified;
        }
        let kind = KINDS.get((bits >> 36 & 0xf) as usize);
        kind.map_or(TagReading::ProtocolViolation(from), |&kind| TagReading::Ours(Self { kind, from, number: bits as u16 }))
    }
}

/// The address of a rank: the names of its lanes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndpointAddress {
    pub(crate) provider: String,
    pub(crate) drawn: Nonce,
    pub(crate) lanes: Vec<Vec<u8>>,
}

impl EndpointAddress {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        bytes.extend(CREDITS.to_le_bytes());
        bytes.extend((BUFFER as u32).to_le_bytes());
        bytes.extend(self.drawn);
        for text in core::iter::once(self.provider.as_bytes()).chain(self.lanes.iter().map(Vec::as_slice)) {
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text);
        }
        bytes
    }

    /// Reads the address of `from`, which must be of this version.
    pub(crate) fn read(bytes: &[u8], from: Rank) -> Result<Self, Error> {
        let garbled = |what| Error::from(Cause::ProtocolViolation { from, what });
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| garbled("something else than an address"))?;
        let (&[version], rest) = rest.split_first_chunk().ok_or_else(|| garbled("half an address"))?;
        let (credits, rest) = rest.split_first_chunk().ok_or_else(|| garbled("half an address"))?;
        let (buffer, rest) = rest.split_first_chunk().ok_or_else(|| garbled("half an address"))?;
        let same = (version, u32::from_le_bytes(*credits), u32::from_le_bytes(*buffer)) == (VERSION, CREDITS, BUFFER as u32);
        if !same {
            return Err(garbled("the address of another version"));
        }
        let (drawn, rest) = rest.split_first_chunk().ok_or_else(|| garbled("half an address"))?;
        let (mut texts, mut rest) = (Vec::new(), rest);
        while !rest.is_empty() {
            let (len, behind) = rest.split_first_chunk().ok_or_else(|| garbled("half an address"))?;
            let len = usize::from(u16::from_le_bytes(*len));
            let (text, behind) = behind.split_at_checked(len).ok_or_else(|| garbled("half an address"))?;
            texts.push(text.to_vec());
            rest = behind;
        }
        let mut texts = texts.into_iter();
        let provider = texts.next().and_then(|name| String::from_utf8(name).ok());
        let provider = provider.ok_or_else(|| garbled("an address without a fabric"))?;
        Ok(Self { provider, drawn: *drawn, lanes: texts.collect() })
    }
}

/// The place of a piece of exposed memory, for its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteMemory {
    pub(crate) address: u64,
    pub(crate) len: u64,
    pub(crate) key: u64,
}

const RECORD: usize = 24;
/// Records that fit into a frame, behind the byte that says whether more follow.
pub(crate) const RECORDS_MAX: usize = (BUFFER - 8) / RECORD;

impl RemoteMemory {
    pub(crate) fn write_all(records: &[Self], more: bool) -> Vec<u8> {
        let mut bytes = vec![u8::from(more), 0, 0, 0, 0, 0, 0, 0];
        for record in records {
            for number in [record.address, record.len, record.key] {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes
    }

    /// Whether more follow, and the records; `None` if the bytes are no records.
    pub(crate) fn read_all(bytes: &[u8]) -> Option<(bool, Vec<Self>)> {
        let (&first, rest) = bytes.split_first_chunk::<8>()?;
        let (records, odd) = rest.as_chunks::<RECORD>();
        if !odd.is_empty() || first[0] > 1 || first[1..] != [0; 7] {
            return None;
        }
        let read = |record: &[u8; RECORD]| {
            let (numbers, _) = record.as_chunks::<8>();
            let [address, len, key] = [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]));
            Self { address, len, key }
        };
        Some((first[0] == 1, records.iter().map(read).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_as_it_was_packed() {
        let (stamp, other) = (0x7f_1234, 0x7f_1235);
        for (kind, from, number) in KINDS.into_iter().zip([0, 1, 5, 1_023, 9, 3]).map(|(kind, from)| (kind, from, 0xfedc)) {
            let tag = Tag { kind, from, number };
            assert_eq!(Tag::read(tag.pack(stamp), stamp, 1_024), TagReading::Ours(tag));
            assert_eq!(Tag::read(tag.pack(stamp), stamp, from as usize), TagReading::Unverified);
            assert_eq!(Tag::read(tag.pack(other), stamp, 1_024), TagReading::Unverified);
        }
        let unknown = Tag { kind: FrameKind::Frame, from: 2, number: 0 }.pack(stamp) | 0xf << 36;
        assert_eq!(Tag::read(unknown, stamp, 3), TagReading::ProtocolViolation(2));
    }

    #[test]
    fn an_address_is_read_as_it_was_written_and_no_other() {
        let address =
            EndpointAddress { provider: "tcp".to_owned(), drawn: [5; 16], lanes: vec![vec![1, 2, 3], vec![], vec![9; 300]] };
        let bytes = address.write();
        assert_eq!(EndpointAddress::read(&bytes, 0), Ok(address));
        let what = |bytes: &[u8]| match EndpointAddress::read(bytes, 4).map_err(|error| error.cause().clone()) {
            Err(Cause::ProtocolViolation { from: 4, what }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(b"GET / HTTP/1.1"), "something else than an address");
        assert_eq!(what(&bytes[..bytes.len() - 1]), "half an address");
        let mut other = bytes.clone();
        other[4] += 1;
        assert_eq!(what(&other), "the address of another version");
        for len in 0..bytes.len() {
            // Cut where a lane ends it is an address of fewer lanes; reading never goes wrong.
            let _ = EndpointAddress::read(&bytes[..len], 0);
        }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let record = RemoteMemory { address: u64::MAX, len: 7, key: 1 << 40 };
        for more in [false, true] {
            let bytes = RemoteMemory::write_all(&[record, record], more);
            assert_eq!(RemoteMemory::read_all(&bytes), Some((more, vec![record, record])));
            assert_eq!(RemoteMemory::read_all(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(RemoteMemory::read_all(&[0; 4]), None);
        assert_eq!(RemoteMemory::read_all(&[2, 0, 0, 0, 0, 0, 0, 0]), None);
        assert!(RemoteMemory::write_all(&[record; RECORDS_MAX], true).len() <= BUFFER);
    }
}
