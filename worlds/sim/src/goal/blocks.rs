//! A file's bytes through a cache of fixed size: operations run nearly in the order of the file, so each rank
//! needs few blocks at a time.
use super::error::GoalError;
use std::io;

/// Where a trace's bytes come from.
pub trait BlockSource {
    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// If they cannot be read, or the source ends before.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// The length of the source in bytes.
    ///
    /// # Errors
    /// If it cannot be told.
    fn length(&self) -> io::Result<u64>;
}

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct GoalBytes(pub Vec<u8>);

impl BlockSource for GoalBytes {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.0.get(at..)?.get(..into.len()));
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// A block has 2^13 bytes: about two hundred operations.
const BLOCK_BITS: u32 = 13;
const BLOCK: usize = 1 << BLOCK_BITS;
/// The places that a block may lie in: with several, ranks whose blocks fall together do not take turns.
const WAYS: usize = 4;
/// The most sets of these places: the cache has 128 MiB at most.
const SETS_MAX: usize = 1 << 12;
const NONE: u64 = u64::MAX;

/// The source and its cache.
pub(super) struct Blocks {
    source: Box<dyn BlockSource>,
    length: u64,
    /// Which blocks are in each set.
    held: Box<[[u64; WAYS]]>,
    /// Which of each set is replaced next.
    oldest: Box<[u8]>,
    bytes: Box<[u8]>,
}

impl Blocks {
    pub(super) fn new(source: Box<dyn BlockSource>) -> Result<Self, GoalError> {
        let length = source.length()?;
        let mut blocks = Self { source, length, held: Box::default(), oldest: Box::default(), bytes: Box::default() };
        blocks.fit(1);
        Ok(blocks)
    }

    /// Makes room for what that many ranks read at a time. More would only drive it out of the processor's
    /// caches.
    pub(super) fn fit(&mut self, ranks: u32) {
        let sets = (ranks as usize * 4).next_power_of_two().clamp(64, SETS_MAX);
        self.held = vec![[NONE; WAYS]; sets].into();
        self.oldest = vec![0; sets].into();
        self.bytes = vec![0; (sets * WAYS) << BLOCK_BITS].into();
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes from `at` on.
    #[inline(always)]
    pub(super) fn get<const N: usize>(&mut self, at: u64) -> Result<[u8; N], GoalError> {
        let within = at as usize % BLOCK;
        if within + N <= BLOCK {
            let place = self.place(at >> BLOCK_BITS)? + within;
            return Ok(self.bytes[place..place + N].try_into().expect("N bytes"));
        }
        let mut bytes = [0; N];
        self.copy_across(at, &mut bytes)?;
        Ok(bytes)
    }

    #[cold]
    fn copy_across(&mut self, mut at: u64, mut into: &mut [u8]) -> Result<(), GoalError> {
        while !into.is_empty() {
            let within = at as usize % BLOCK;
            let count = into.len().min(BLOCK - within);
            let place = self.place(at >> BLOCK_BITS)?;
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(&self.bytes[place + within..][..count]);
            (at, into) = (at + count as u64, later);
        }
        Ok(())
    }

    /// Where a block lies in the cache.
    #[inline(always)]
    fn place(&mut self, block: u64) -> Result<usize, GoalError> {
        let set = (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (self.held.len() - 1);
        match self.held[set].iter().position(|&held| held == block) {
            Some(way) => Ok((set * WAYS + way) << BLOCK_BITS),
            None => self.fetch(block, set),
        }
    }

    #[cold]
    fn fetch(&mut self, block: u64, set: usize) -> Result<usize, GoalError> {
        let way = self.oldest[set] as usize;
        let place = (set * WAYS + way) << BLOCK_BITS;
        let from = block << BLOCK_BITS;
        let count = self.length.saturating_sub(from).min(BLOCK as u64) as usize;
        self.held[set][way] = NONE;
        let into = &mut self.bytes[place..place + BLOCK];
        into[count..].fill(0);
        self.source.read_at(from, &mut into[..count])?;
        self.held[set][way] = block;
        self.oldest[set] = ((way + 1) % WAYS) as u8;
        Ok(place)
    }
}
