//! Finds the minipage of a page of a view, and its bytes, with one array access each and without locks, for
//! fault handlers.
//!
//! A minipage is added before any thread learns its address, and removed after all copies of it were closed,
//! so a thread that faults in it always finds it complete. A thread with a stale address may find nothing, or
//! a later minipage.
use super::layout::{Extent, Span, ViewAddress};
use crate::Minipage;
use bytemuck::allocation::try_zeroed_slice_box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Cause, Error};

/// The position of the view's number in an entry; the offset is below it.
const VIEW_SHIFT: u32 = 48;

/// A minipage's extent: its location, then its length in bytes; 0 means that there is no minipage with this
/// number.
type ExtentWords = [AtomicU64; 2];

/// Which minipage a page of a view belongs to, and where each minipage is.
///
/// Zeros that were never touched use no memory, so a table may be as large as its space could ever need.
#[derive(Debug)]
pub struct MinipageTable {
    pages: u32,
    /// By view and page: the minipage's number plus 1, or 0.
    vpages: Box<[AtomicU32]>,
    entries: Box<[ExtentWords]>,
}

impl MinipageTable {
    /// # Errors
    /// [`Cause::Unavailable`] if there is no memory for it.
    ///
    /// # Panics
    /// If a view has 2^48 bytes or more, or there are 2^32 - 1 pages of views or more: no space has.
    pub(super) fn new(pages: u32, views: u32) -> Result<Self, Error> {
        let vpages = u32::try_from(u64::from(pages) * u64::from(views)).expect("fewer than 2^32 pages of views");
        assert!(vpages < u32::MAX && views < 1 << (64 - VIEW_SHIFT), "{pages} pages, {views} views");
        let vpages = vpages as usize;
        let tables = try_zeroed_slice_box(vpages).and_then(|pages| Ok((pages, try_zeroed_slice_box(vpages)?)));
        let (vpages, entries) = tables.map_err(|()| no_memory())?;
        Ok(Self { pages, vpages, entries })
    }

    /// Returns an upper bound of all minipage numbers: every page of every view may have one.
    pub fn minipages(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Returns the minipage of that page.
    #[inline]
    pub fn minipage(&self, place: ViewAddress) -> Option<Minipage> {
        self.at(place.view, place.page)
    }

    /// Returns the minipage of that page, by view and page.
    #[inline]
    pub(super) fn at(&self, view: u32, page: u32) -> Option<Minipage> {
        let index = view as usize * self.pages as usize + page as usize;
        let number = if page < self.pages { self.vpages.get(index)?.load(Acquire) } else { 0 };
        number.checked_sub(1).map(Minipage)
    }

    /// Returns the extent of a minipage, if there is one with this number.
    #[inline]
    pub fn extent(&self, minipage: Minipage) -> Option<Extent> {
        let [place, bytes] = self.entries.get(minipage.0 as usize)?;
        let bytes = bytes.load(Acquire) as usize;
        let place = place.load(Relaxed);
        let (view, offset) = ((place >> VIEW_SHIFT) as u32, (place & ((1 << VIEW_SHIFT) - 1)) as usize);
        (bytes > 0).then_some(Extent { view, offset, bytes })
    }

    pub(super) fn enter(&self, minipage: Minipage, extent: Extent) {
        let [place, bytes] = &self.entries[minipage.0 as usize];
        place.store(u64::from(extent.view) << VIEW_SHIFT | extent.offset as u64, Relaxed);
        bytes.store(extent.bytes as u64, Release);
        self.mark(extent.span(), minipage.0 + 1);
    }

    pub(super) fn remove(&self, minipage: Minipage, extent: Extent) {
        self.mark(extent.span(), 0);
        self.entries[minipage.0 as usize][1].store(0, Release);
    }

    fn mark(&self, span: Span, number: u32) {
        let first = span.view as usize * self.pages as usize + span.page as usize;
        for vpage in &self.vpages[first..first + span.pages as usize] {
            vpage.store(number, Release);
        }
    }
}

/// Returns the error for a table of minipages for which there is no memory.
pub(crate) fn no_memory() -> Error {
    let what = "memory for the tables of shared pages".to_owned();
    let remedy = "raise the limits on data and address space (`ulimit -d`, `ulimit -v`), or share less".to_owned();
    Cause::Unavailable { what, remedy }.into()
}
