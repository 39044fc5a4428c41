//! Computes where units of one size must lie, without a table: a division finds the unit, as in Millipage's
//! static layout (Itzkovitz & Schuster 1999, section 2).
use crate::Minipage;
use crate::views::{Extent, GRAIN, PAGE, ViewAddress};

/// Units of one size, as many per page as fit, the j-th of every page in view j.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Even {
    unit: usize,
}

impl Even {
    /// Returns units of `bytes` bytes, rounded up to a multiple of [`GRAIN`].
    pub(super) const fn new(bytes: usize) -> Self {
        Self { unit: bytes.next_multiple_of(GRAIN) }
    }

    /// Returns how many units fit into a page, which is the number of views that they need.
    pub(super) const fn views(self) -> u32 {
        (PAGE / self.unit) as u32
    }

    /// Returns how many pages `units` units need.
    pub(super) const fn pages(self, units: u32) -> u32 {
        units.div_ceil(self.views())
    }

    /// Returns where unit `minipage` is.
    pub(super) const fn extent(self, minipage: Minipage) -> Extent {
        let view = minipage.0 % self.views();
        let page = minipage.0 / self.views();
        Extent { view, offset: page as usize * PAGE + view as usize * self.unit, bytes: self.unit }
    }

    /// Returns the unit for which the page of that view is opened and closed, or `None` in a view that these
    /// units do not use.
    pub(super) const fn minipage(self, place: ViewAddress) -> Option<Minipage> {
        if place.view < self.views() { Some(Minipage(place.page * self.views() + place.view)) } else { None }
    }
}
