//! The words of all minipages on one rank: its threads and its server share them, and accessors read them
//! before they touch memory.
use crate::protocol::Word;
use crate::views::no_memory;
use crate::{Access, Minipage};
use bytemuck::allocation::try_zeroed_slice_box;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::Error;

/// A [`Word`] for each minipage. Zero words use no memory until they are touched.
#[derive(Debug)]
pub struct WordTable(Box<[AtomicU32]>);

impl WordTable {
    /// Creates the words of `minipages` minipages, all closed.
    ///
    /// # Errors
    /// [`Cause::Unavailable`](foregather_machine::Cause::Unavailable) if there is no memory for them.
    pub fn new(minipages: u32) -> Result<Self, Error> {
        debug_assert_eq!(Word::default().bits(), 0);
        try_zeroed_slice_box(minipages as usize).map(Self).map_err(|()| no_memory())
    }

    /// Returns the maximum number of minipages.
    pub fn minipages(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the word of a minipage.
    #[inline]
    pub fn word(&self, minipage: Minipage) -> Word {
        Word::from_bits(self.0[minipage.0 as usize].load(Acquire))
    }

    /// Returns the access that the rank had a moment ago. It is only a hint: the view decides, so a thread
    /// that relies on it may still fault.
    #[inline]
    pub fn hint(&self, minipage: Minipage) -> Access {
        Word::from_bits(self.0[minipage.0 as usize].load(Relaxed)).access()
    }

    pub(super) fn exchange(&self, minipage: Minipage, from: Word, to: Word) -> bool {
        self.0[minipage.0 as usize].compare_exchange(from.bits(), to.bits(), AcqRel, Acquire).is_ok()
    }
}
