//! Memory that several processes map: lines of words and the C library's objects, each in a pair of cache
//! lines of its own.
//!
//! It is backed by an anonymous memory file: see `mapping.rs`.
use crate::mapping::{Mapping, wrong};
use crate::object::Slot;
use crate::os::inherited;
use core::mem::{align_of, size_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Cause, Error, SharedBytes, SharedLines, WordLine};
use foregather_thread::Word;
use rustix::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Bytes of a line: two cache lines, because processors prefetch them in pairs.
const LINE: usize = 128;
/// "foregath" in ASCII: marks a segment of this library that is ready.
const MAGIC: u64 = u64::from_be_bytes(*b"foregath");
/// Changes whenever the layout of the header or of any kind of segment changes.
const VERSION: u32 = 5;

/// The purpose of a segment. A process that attaches passes the kind that it expects, so that it never
/// mistakes a queue for a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SegmentKind {
    /// Words whose meaning both sides agree on separately.
    Words = 1,
    /// A queue from one writer to several readers.
    Queue = 2,
    /// A barrier between processes.
    Barrier = 3,
}

impl SegmentKind {
    /// Returns the name of the kind for error messages.
    const fn name(self) -> &'static str {
        match self {
            Self::Words => "a shared segment of words",
            Self::Queue => "a queue of broadcasts",
            Self::Barrier => "a barrier of processes",
        }
    }

    /// Returns the name for a number in a header, which any process may have stored.
    fn name_of(number: u32) -> &'static str {
        let known = [Self::Words, Self::Queue, Self::Barrier].into_iter().find(|&kind| kind as u32 == number);
        known.map_or("a segment of an unknown kind", Self::name)
    }
}

/// Line 0. All fields except `claimed` are written before the magic number.
#[repr(C)]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    words: AtomicU32,
    objects: AtomicU32,
    claimed: AtomicU32,
    bytes: AtomicU64,
    kind: AtomicU32,
}

/// Shared memory: line 0 describes it, followed by lines of words, then objects, then bytes.
#[derive(Debug)]
pub struct Segment {
    mapping: Mapping,
    shape: SegmentShape,
}

/// How many words, objects and bytes a segment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentShape {
    /// Lines of words.
    words: u32,
    objects: u32,
    bytes: usize,
}

impl SegmentShape {
    /// Returns the number of lines before the bytes.
    const fn lines(self) -> usize {
        1 + self.words as usize + self.objects as usize
    }

    /// Returns the total size, or `None` if it overflows.
    fn total(self) -> Option<usize> {
        (self.lines() * LINE).checked_add(self.bytes).filter(|&total| total <= isize::MAX as usize)
    }
}

fn too_large() -> Error {
    Error::from(Cause::Setting { what: "the size of a segment", needs: "below 2^32 lines, and below 2^63 bytes" })
}

impl Segment {
    /// Creates a segment with `count` lines of words, all 0, for a group or a team ([`Segment::lines`]).
    ///
    /// # Errors
    /// [`Cause::Setting`] unless `count` is 1 to 2^32 - 1; otherwise as for [`Segment::new`].
    pub fn of_lines(count: usize) -> Result<Self, Error> {
        match u32::try_from(count) {
            Ok(count) if count > 0 => Self::new(count, 0),
            _ => {
                Err(Error::from(Cause::Setting { what: "the number of lines of a segment", needs: "at least 1 and below 2^32" }))
            }
        }
    }

    /// Creates a segment with that many words, all 0, and room for that many objects of the C library
    /// ([`kernel::WaitMethod::objects`](crate::kernel::WaitMethod::objects)).
    ///
    /// # Errors
    /// If the system has no memory for it or does not support memory files.
    pub fn new(words: u32, objects: u32) -> Result<Self, Error> {
        Self::shaped(SegmentKind::Words, SegmentShape { words, objects, bytes: 0 })
    }

    /// Creates a segment with that many lines of words, and `bytes` bytes, rounded up to whole lines.
    ///
    /// # Errors
    /// [`Cause::Setting`] for 2^32 lines or more; otherwise as for [`Segment::new`].
    pub fn with_bytes(lines: usize, bytes: usize) -> Result<Self, Error> {
        Self::of_kind(SegmentKind::Words, lines, bytes)
    }

    /// Creates a segment like [`Segment::with_bytes`], for a purpose that others name when they attach.
    ///
    /// # Errors
    /// As for [`Segment::with_bytes`].
    pub fn of_kind(kind: SegmentKind, lines: usize, bytes: usize) -> Result<Self, Error> {
        match (u32::try_from(lines), bytes.checked_next_multiple_of(LINE)) {
            (Ok(words), Some(bytes)) => Self::shaped(kind, SegmentShape { words, objects: 0, bytes }),
            _ => Err(too_large()),
        }
    }

    fn shaped(kind: SegmentKind, shape: SegmentShape) -> Result<Self, Error> {
        let total = shape.total().ok_or_else(too_large)?;
        let segment = Self { mapping: Mapping::new(total)?, shape };
        let header = segment.header();
        header.version.store(VERSION, Relaxed);
        header.words.store(shape.words, Relaxed);
        header.objects.store(shape.objects, Relaxed);
        header.bytes.store(shape.bytes as u64, Relaxed);
        header.kind.store(kind as u32, Relaxed);
        header.magic.store(MAGIC, Release);
        segment.keep_bytes_out_of_cores();
        Ok(segment)
    }

    /// Attaches to a segment of words that another process created.
    ///
    /// # Errors
    /// As for [`Segment::attach_kind`].
    pub fn attach(fd: OwnedFd) -> Result<Self, Error> {
        Self::attach_kind(fd, SegmentKind::Words)
    }

    /// Attaches to a segment of that kind that another process created.
    ///
    /// # Errors
    /// [`Cause::Unavailable`] if the descriptor is something else, or a segment of another kind or of another
    /// version of this library.
    pub fn attach_kind(fd: OwnedFd, kind: SegmentKind) -> Result<Self, Error> {
        let mapping = Mapping::attach(fd, LINE)?;
        let mut segment = Self { mapping, shape: SegmentShape { words: 0, objects: 0, bytes: 0 } };
        let total = segment.mapping.bytes();
        let header = segment.header();
        if header.magic.load(Acquire) != MAGIC {
            return Err(wrong("it is somebody else's memory file: pass the descriptor that `Segment::fd` gave".to_owned()));
        }
        let (version, words, objects) = (header.version.load(Relaxed), header.words.load(Relaxed), header.objects.load(Relaxed));
        let bytes = usize::try_from(header.bytes.load(Relaxed)).unwrap_or(usize::MAX);
        let shape = SegmentShape { words, objects, bytes };
        if version != VERSION || shape.total() != Some(total) || !bytes.is_multiple_of(LINE) {
            let remedy = format!(
                "it has version {version}, this program has {VERSION}: start both processes from the same executable \
                 ({words} words, {objects} objects and {bytes} bytes in {total} bytes)"
            );
            return Err(wrong(remedy));
        }
        let found = header.kind.load(Relaxed);
        if found != kind as u32 {
            return Err(Error::from(Cause::Unavailable {
                what: format!("{} in the descriptor", kind.name()),
                remedy: format!("it holds {}: pass the descriptor of {}", SegmentKind::name_of(found), kind.name()),
            }));
        }
        segment.shape = shape;
        segment.keep_bytes_out_of_cores();
        Ok(segment)
    }

    /// Keeps the words in core dumps, because they show which process waits for which.
    fn keep_bytes_out_of_cores(&self) {
        self.mapping.keep_out_of_cores(self.shape.lines() * LINE);
    }

    /// Attaches to a segment through a descriptor that this process has inherited with that number.
    ///
    /// # Errors
    /// If no such descriptor is open, or if it is something else.
    pub fn inherited(number: RawFd) -> Result<Self, Error> {
        Self::attach(inherited(number)?)
    }

    /// Returns the descriptor, for a child to inherit.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.mapping.fd()
    }

    /// Returns how many words have cache lines of their own: one for each line.
    pub fn words(&self) -> u32 {
        self.shape.words
    }

    /// Returns how many lines there are for objects of the C library.
    pub(crate) fn objects(&self) -> u32 {
        self.shape.objects
    }

    /// Returns the first word of a line.
    ///
    /// # Panics
    /// If the segment has fewer words.
    #[inline]
    pub fn word(&self, index: u32) -> &Word {
        assert!(index < self.shape.words, "word {index} of {}", self.shape.words);
        &self.quads()[index as usize][0]
    }

    /// Returns all lines of words, for a group or a team. They keep the segment mapped.
    pub fn lines(self: &Arc<Self>) -> SharedLines<Word> {
        let segment: Arc<Self> = Arc::clone(self);
        SharedLines::shared(segment)
    }

    /// Returns all its bytes. They keep the segment mapped.
    pub fn bytes(self: &Arc<Self>) -> SharedBytes {
        let segment: Arc<Self> = Arc::clone(self);
        SharedBytes::shared(segment)
    }

    /// Returns the address of the first of its bytes in this process, aligned to a line. It is valid as long
    /// as the segment is mapped. The caller must handle what other threads store there meanwhile.
    pub fn bytes_address(&self) -> NonNull<u8> {
        self.line(self.shape.lines())
    }

    fn quads(&self) -> &[WordLine<Word>] {
        const { assert!(size_of::<WordLine<Word>>() == LINE && align_of::<WordLine<Word>>() == LINE) };
        // SAFETY: `words` lines from line 1 on are within the mapping, as `new` and `attach` have checked;
        // they are aligned, and zero bytes are words. Words are atomic, their lines never hold anything else,
        // and the mapping lives as long as self.
        unsafe { core::slice::from_raw_parts(self.line(1).cast().as_ptr(), self.shape.words as usize) }
    }

    fn header(&self) -> &Header {
        // SAFETY: every mapping has at least one line, and all fields are atomics.
        unsafe { self.mapping.at(0).cast().as_ref() }
    }

    fn line(&self, number: usize) -> NonNull<u8> {
        self.mapping.at(number * LINE)
    }

    /// Returns the line of object `number`, if there is one.
    pub(crate) fn slot<T>(&self, number: u32) -> Option<&Slot<T>> {
        const { assert!(size_of::<Slot<T>>() <= LINE && align_of::<Slot<T>>() <= LINE) };
        // SAFETY: within the mapping by the comparison before. `kind` is atomic; `object` is in a cell.
        (number < self.shape.objects)
            .then(|| unsafe { self.line(1 + self.shape.words as usize + number as usize).cast().as_ref() })
    }

    /// Claims a line for an object of the C library that no other process uses. Returns `None` if all are
    /// taken.
    pub(crate) fn claim<T>(&self) -> Option<(u32, &Slot<T>)> {
        let number = self.header().claimed.fetch_add(1, Relaxed);
        self.slot(number).map(|slot| (number, slot))
    }
}

impl AsRef<[WordLine<Word>]> for Segment {
    fn as_ref(&self) -> &[WordLine<Word>] {
        self.quads()
    }
}

impl AsRef<[AtomicU64]> for Segment {
    fn as_ref(&self) -> &[AtomicU64] {
        // SAFETY: the bytes follow the lines within the mapping, as `shaped` and `attach` have checked; they
        // are aligned to a line, and any bytes are an atomic number. They never hold anything else, and the
        // mapping lives as long as self.
        unsafe { core::slice::from_raw_parts(self.bytes_address().cast().as_ptr(), self.shape.bytes / size_of::<u64>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_thread::Scope;
    use rustix::fd::AsRawFd;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
    use rustix::pipe::{PipeFlags, pipe_with};

    #[test]
    fn two_mappings_show_the_same_words() {
        let one = Segment::new(3, 0).unwrap();
        let two = Segment::inherited(one.fd().as_raw_fd()).unwrap();
        assert_eq!((two.words(), two.word(2).load()), (3, 0));
        one.word(2).publish(5, Scope::Shared);
        assert_eq!((two.word(2).load(), two.word(1).load()), (5, 0));
        drop(one);
        assert_eq!(two.word(2).load(), 5);
    }

    #[test]
    fn words_have_lines_of_their_own() {
        let segment = Segment::new(2, 0).unwrap();
        let address = |index| std::ptr::from_ref(segment.word(index)).addr();
        assert_eq!((address(1) - address(0), address(0) % LINE), (LINE, 0));
    }

    #[test]
    fn lines_are_the_same_in_two_mappings_and_begin_with_the_words() {
        let one = Arc::new(Segment::of_lines(3).unwrap());
        let two = Arc::new(Segment::inherited(one.fd().as_raw_fd()).unwrap());
        let (here, there) = (one.lines(), two.lines());
        assert_eq!((here.len(), there.len()), (3, 3));
        drop((one, two));
        here[1][3].publish(5, Scope::Shared);
        here[2][0].publish(6, Scope::Shared);
        assert_eq!((there[1][3].load(), there[1][0].load(), there[2][0].load()), (5, 0, 6));
        assert!(there.iter().all(|line| std::ptr::from_ref(line).addr() % LINE == 0));
        let objects = Arc::new(Segment::new(0, 2).unwrap());
        assert!(objects.lines().is_empty());
    }

    #[test]
    fn bytes_are_in_no_core_dump_and_words_are() {
        // Returns the flags of the pages at an address, from the kernel's list.
        fn flags(address: usize) -> String {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let range = |line: &str| {
                let (from, to) = line.split_once(' ')?.0.split_once('-')?;
                Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
            };
            let of = maps.lines().skip_while(|line| !range(line).is_some_and(|range| range.contains(&address)));
            of.skip(1).find(|line| line.starts_with("VmFlags:")).unwrap_or_default().to_owned()
        }
        let one = Segment::with_bytes(2, 1 << 20).unwrap();
        let two = Segment::inherited(one.fd().as_raw_fd()).unwrap();
        for segment in [&one, &two] {
            let first = segment.bytes_address().addr().get();
            let (words, last) = (flags(first - 1), flags(first + (1 << 20) - 1));
            assert!(!words.contains(" dd") && last.contains(" dd"), "{words}; {last}");
        }
    }

    #[test]
    fn bytes_are_the_same_in_two_mappings_and_lie_behind_the_lines() {
        use foregather_machine::ByteStore;
        let one = Arc::new(Segment::with_bytes(2, 1_000).unwrap());
        let two = Arc::new(Segment::inherited(one.fd().as_raw_fd()).unwrap());
        assert_eq!((one.bytes().size(), two.bytes().size()), (1_024, 1_024));
        one.bytes().store(1_016, b"the last");
        one.word(1).publish(7, Scope::Shared);
        let mut seen = [0; 8];
        two.bytes().load(1_016, &mut seen);
        assert_eq!((&seen, two.word(1).load(), two.lines().len()), (b"the last", 7, 2));
        assert_eq!(two.bytes_address().addr().get() % LINE, 0);
    }

    #[test]
    fn impossible_numbers_of_lines_are_errors() {
        for count in [0, 1 << 32, usize::MAX] {
            assert!(matches!(Error::of(&Segment::of_lines(count)), Some(Cause::Setting { .. })), "{count}");
        }
        for (lines, bytes) in [(1 << 32, 0), (1, usize::MAX), (1, isize::MAX as usize)] {
            let end = Segment::with_bytes(lines, bytes);
            assert!(matches!(Error::of(&end), Some(Cause::Setting { .. })), "{lines} lines, {bytes} bytes");
        }
    }

    #[test]
    #[should_panic(expected = "word 2 of 2")]
    fn there_is_no_word_beyond_the_last() {
        Segment::new(2, 1).unwrap().word(2);
    }

    #[test]
    fn a_wrong_descriptor_is_a_clear_error() {
        let message = |fd: OwnedFd| Segment::attach(fd).unwrap_err().to_string();
        let pipe = pipe_with(PipeFlags::CLOEXEC).unwrap().0;
        assert!(message(pipe).contains("no sealed memory file"));
        let file = || memfd_create("other", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        let unsealed = file();
        ftruncate(&unsealed, 4_096).unwrap();
        assert!(message(unsealed).contains("no sealed memory file"));
        let other = file();
        ftruncate(&other, 4_096).unwrap();
        fcntl_add_seals(&other, SealFlags::SHRINK).unwrap();
        assert!(message(other).contains("somebody else's"));
        let old = Segment::new(1, 1).unwrap();
        old.header().version.store(VERSION + 1, Relaxed);
        assert!(message(old.fd().try_clone_to_owned().unwrap()).contains(&format!("version {}", VERSION + 1)));
        let queue = Segment::of_kind(SegmentKind::Queue, 1, 0).unwrap();
        assert!(message(queue.fd().try_clone_to_owned().unwrap()).contains("it holds a queue of broadcasts"));
        let unknown = Segment::new(1, 1).unwrap();
        unknown.header().kind.store(9, Relaxed);
        assert!(message(unknown.fd().try_clone_to_owned().unwrap()).contains("an unknown kind"));
        for lie in [u32::MAX, 2, 0] {
            let liar = Segment::new(1, 1).unwrap();
            liar.header().words.store(lie, Relaxed);
            assert!(message(liar.fd().try_clone_to_owned().unwrap()).contains(&format!("{lie} words")));
        }
        assert!(matches!(Segment::inherited(9_999).unwrap_err().cause(), Cause::Os { errno: libc::EBADF, .. }));
    }

    #[test]
    fn nobody_can_take_the_memory_away() {
        let segment = Segment::new(64, 0).unwrap();
        assert!(ftruncate(segment.fd(), 0).is_err());
        assert_eq!(fstat(segment.fd()).unwrap().st_mode & 0o777, 0o600);
    }
}
