//! Tracks which exposures a lane uses, and for what.
use super::help::HelpTimes;
use super::pieces::RemoteRange;
use super::shape::EXPOSURES;
use core::cell::{Cell, RefCell};

/// A lane's own view of its exposures.
pub(crate) struct Exposed {
    /// One bit per exposure: free, or in use.
    pub(super) free: Cell<u64>,
    pub(super) used: Cell<u64>,
    pub(super) entries: Box<[Entry]>,
    /// Scratch lists for a call.
    pub(super) scratch: RefCell<[Vec<RemoteRange>; 2]>,
    /// The getter's list while this lane helps, which can happen in the middle of a call of its own.
    pub(super) helping: RefCell<Vec<RemoteRange>>,
    pub(super) times: HelpTimes,
}

/// An odd generation is exposed.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) generation: Cell<u64>,
    pub(super) pieces: RefCell<Vec<RemoteRange>>,
}

impl Default for Exposed {
    fn default() -> Self {
        let entries = (0..EXPOSURES).map(|_| Entry::default()).collect();
        Self {
            free: Cell::new(u64::MAX),
            used: Cell::new(0),
            entries,
            scratch: RefCell::default(),
            helping: RefCell::default(),
            times: HelpTimes::default(),
        }
    }
}

impl Exposed {
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.used.get() != 0
    }

    /// Takes the lowest free exposure.
    pub(super) fn take(&self) -> Option<usize> {
        let number = self.free.get().trailing_zeros();
        let bit = 1_u64.checked_shl(number)?;
        self.free.set(self.free.get() & !bit);
        self.used.set(self.used.get() | bit);
        Some(number as usize)
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        let mut left = self.used.get();
        core::iter::from_fn(move || {
            let number = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (number < EXPOSURES).then_some(number)
        })
    }
}
