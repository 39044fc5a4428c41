//! The words of all minipages on one rank: shared by its threads and its server, and read by accessors before
//! they touch memory.
use crate::protocol::Word;
use crate::{Access, Minipage};
use bytemuck::allocation::zeroed_slice_box;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// A [`Word`] for each minipage. Zeros take no memory until they are touched.
#[derive(Debug)]
pub struct WordTable(Box<[AtomicU32]>);

impl WordTable {
    /// Words for `minipages` minipages, all closed.
    pub fn new(minipages: u32) -> Self {
        debug_assert_eq!(Word::default().bits(), 0);
        Self(zeroed_slice_box(minipages as usize))
    }

    /// How many minipages there can be.
    pub fn minipages(&self) -> u32 {
        self.0.len() as u32
    }

    /// The word of a minipage.
    #[inline]
    pub fn word(&self, minipage: Minipage) -> Word {
        Word::from_bits(self.0[minipage.0 as usize].load(Acquire))
    }

    /// The access that the rank had a moment ago. Only a hint: the view decides, so a thread that relies on
    /// it may fault after all.
    #[inline]
    pub fn hint(&self, minipage: Minipage) -> Access {
        Word::from_bits(self.0[minipage.0 as usize].load(Relaxed)).access()
    }

    pub(super) fn exchange(&self, minipage: Minipage, from: Word, to: Word) -> bool {
        self.0[minipage.0 as usize].compare_exchange(from.bits(), to.bits(), AcqRel, Acquire).is_ok()
    }
}
