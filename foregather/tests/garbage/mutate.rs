//! Garbage: random bytes, words, headers and runs anywhere in a segment, through its descriptor.
use foregather_machine::SplitMix;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Units of a ring, and the header of a record.
const UNIT: u64 = 64;
const HEADER: usize = 32;
/// Bytes of a line of words.
const LINE: u64 = 128;
/// Bits of a word before its value.
const SHIFT: u32 = 2;

/// The kind of garbage that a segment gets. If kinds were mixed, the first of them would end all further
/// calls.
#[derive(Clone, Copy, PartialEq)]
enum Theme {
    All,
    Words,
    Headers,
}

/// Writes garbage into one segment.
pub(super) struct Garbage {
    file: File,
    bytes: u64,
    ring: Range<u64>,
    theme: Theme,
    random: SplitMix,
}

impl Garbage {
    pub(super) fn over(descriptor: BorrowedFd<'_>, ring: Range<u64>, seed: u64) -> Self {
        let own: OwnedFd = descriptor.try_clone_to_owned().unwrap();
        let file = File::from(own);
        let bytes = file.metadata().unwrap().len();
        let mut random = SplitMix(seed);
        let theme = [Theme::All, Theme::Words, Theme::Headers][random.below(3) as usize];
        Self { file, bytes, ring, theme, random }
    }

    /// Makes one mutation.
    pub(super) fn mutate(&mut self) {
        let kind = match self.theme {
            Theme::All => self.random.below(12),
            Theme::Words => 2,
            Theme::Headers => 8,
        };
        match kind {
            0 => {
                let (at, byte) = (self.random.below(self.bytes), self.random.below(256) as u8);
                self.store(at, &[byte]);
            }
            1 => {
                let (at, value) = (self.random.below(self.bytes) & !3, self.random.below(1 << 32) as u32);
                self.store(at, &value.to_le_bytes());
            }
            2..=5 => self.word(),
            6 | 7 => self.header(),
            8 | 9 => self.bend_header(),
            10 => self.run(0),
            _ => {
                let byte = self.random.below(256) as u8;
                self.run(byte);
            }
        }
    }

    fn store(&self, at: u64, bytes: &[u8]) {
        let left = self.bytes.saturating_sub(at).min(bytes.len() as u64) as usize;
        self.file.write_all_at(&bytes[..left], at).unwrap();
    }

    /// Returns a number that something may be compared with: a small one, a large one, or one near a power of
    /// two.
    fn value(&mut self) -> u64 {
        let small = self.random.below(40);
        match self.random.below(5) {
            0 | 1 => small,
            2 => u64::MAX - small,
            3 => (1_u64 << self.random.below(64)).wrapping_add(small),
            _ => (1_u64 << self.random.below(64)).wrapping_sub(small),
        }
    }

    /// Overwrites a word of a line with a valid value.
    fn word(&mut self) {
        let lines = self.ring.start / LINE;
        let at = self.random.below(lines) * LINE + self.random.below(6) * 4;
        let value = (self.value() as u32) << SHIFT | if self.random.below(8) == 0 { self.random.below(4) as u32 } else { 0 };
        self.store(at, &value.to_le_bytes());
    }

    fn unit(&mut self) -> Option<u64> {
        let units = (self.ring.end - self.ring.start) / UNIT;
        // Usually near the ring's end.
        let from = if self.random.below(2) == 0 { 0 } else { units.saturating_sub(4) };
        (units > 0).then(|| from + self.random.below(units - from))
    }

    /// Overwrites the bytes of a message, usually some that end at a unit.
    fn length(&mut self) -> u64 {
        let units = (self.ring.end - self.ring.start) / UNIT;
        match self.random.below(4) {
            0 => self.value(),
            1 => (self.random.below(units + 2) * UNIT).saturating_sub(HEADER as u64),
            _ => (self.random.below(units / 2 + 1) * UNIT).saturating_sub(HEADER as u64),
        }
    }

    /// Writes a header that a writer could have written, at a unit.
    fn header(&mut self) {
        let Some(unit) = self.unit() else { return self.word() };
        let (bytes, kind, message) = (self.length(), self.random.below(4), self.random.below(20));
        let total = if self.random.below(2) == 0 { bytes } else { self.value() };
        let laps = (self.ring.end - self.ring.start) / UNIT * self.random.below(4);
        self.fields(unit, [bytes & u64::from(u32::MAX) | kind << 32, total, message, unit + laps]);
    }

    fn fields(&self, unit: u64, fields: [u64; 4]) {
        let header: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        self.store(self.ring.start + unit * UNIT, &header);
    }

    /// Changes one or two fields of a header that a writer has written: often the last one of the ring, and
    /// often to a greater length, so that its message would reach beyond the end.
    fn bend_header(&mut self) {
        let units = (self.ring.end - self.ring.start) / UNIT;
        let headers: Vec<_> = (0..units).filter_map(|unit| Some((unit, self.written_at(unit)?))).collect();
        let Some(&(last, _)) = headers.last() else { return self.header() };
        let (unit, mut fields) = match self.random.below(2) {
            0 => headers[headers.len() - 1],
            _ => headers[self.random.below(headers.len() as u64) as usize],
        };
        let bytes = match self.random.below(3) {
            0 => self.length(),
            _ => (units - last + 1 + self.random.below(3)) * UNIT - HEADER as u64,
        };
        if self.random.below(4) > 0 {
            fields[0] = fields[0] & !u64::from(u32::MAX) | bytes & u64::from(u32::MAX);
            fields[1] = bytes;
        } else {
            let which = self.random.below(4) as usize;
            fields[which] = self.value();
        }
        self.fields(unit, fields);
    }

    /// Returns the fields of a record that begins at that unit.
    fn written_at(&self, unit: u64) -> Option<[u64; 4]> {
        let mut header = [0; HEADER];
        self.file.read_exact_at(&mut header, self.ring.start + unit * UNIT).unwrap();
        let fields: [u64; 4] = std::array::from_fn(|at| u64::from_le_bytes(std::array::from_fn(|byte| header[at * 8 + byte])));
        let units = (self.ring.end - self.ring.start) / UNIT;
        (fields[0] >> 32 == 1 && fields[3] % units == unit).then_some(fields)
    }

    /// Writes the same byte many times.
    fn run(&mut self, byte: u8) {
        let (at, bytes) = (self.random.below(self.bytes) & !7, 8 << self.random.below(8));
        self.store(at, &vec![byte; bytes]);
    }
}
