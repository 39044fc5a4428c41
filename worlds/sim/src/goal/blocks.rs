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
/// The cache has at most 2^14 blocks: 128 MiB.
const PLACE_BITS: u32 = 14;
const NONE: u64 = u64::MAX;

/// The source and its cache, in which each block of the file has one place.
pub(super) struct Blocks {
    source: Box<dyn BlockSource>,
    length: u64,
    /// Which block is in each place.
    held: Box<[u64]>,
    bytes: Box<[u8]>,
}

impl Blocks {
    pub(super) fn new(source: Box<dyn BlockSource>) -> Result<Self, GoalError> {
        let length = source.length()?;
        let places = length.div_ceil(BLOCK as u64).clamp(1, 1 << PLACE_BITS).next_power_of_two() as usize;
        Ok(Self { source, length, held: vec![NONE; places].into(), bytes: vec![0; places << BLOCK_BITS].into() })
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
        // Ranks' blocks of a file often lie a power of two apart, so the number is mixed first.
        let mixed = block ^ (block >> PLACE_BITS).wrapping_mul(0x9e37_79b9);
        let place = mixed as usize & (self.held.len() - 1);
        if self.held[place] != block {
            self.fetch(block, place)?;
        }
        Ok(place << BLOCK_BITS)
    }

    #[cold]
    fn fetch(&mut self, block: u64, place: usize) -> Result<(), GoalError> {
        let from = block << BLOCK_BITS;
        let count = self.length.saturating_sub(from).min(BLOCK as u64) as usize;
        self.held[place] = NONE;
        let into = &mut self.bytes[place << BLOCK_BITS..][..BLOCK];
        into[count..].fill(0);
        self.source.read_at(from, &mut into[..count])?;
        self.held[place] = block;
        Ok(())
    }
}
