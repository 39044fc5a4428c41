//! The words of all minipages on one rank: shared by its threads and its server, and read by accessors before
//! they touch memory.
use crate::protocol::Word;
use crate::views::no_memory;
use crate::{Access, Minipage};
use bytemuck::allocation::try_zeroed_slice_box;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::Error;

/// A [`Word`] for each minipage. Zeros take no memory until they are touched.
#[derive(Debug)]
pub struct WordTable(Box<[AtomicU32]>);

impl WordTable {
    /// Words for `minipages` minipages, all closed.
    ///
    /// # Errors
    /// [`Cause::Unavailable`](foregather_machine::Cause::Unavailable) if there is no memory for them.
    pub fn new(minipages: u32) -> Result<Self, Error> {
        debug_assert_eq!(Word::default().bits(), 0);
        try_zeroed_slice_box(minipages as usize).map(Self).map_err(|()| no_memory())
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
