//! Allocates minipages of any size: first fit over the pages of the object, then over the views of each page.
//!
//! Two minipages never share a byte or a page of a view. A minipage that fits into a page lies within one. A
//! longer one begins at a page and is contiguous, and the rest of its last page can be used by other
//! minipages, in other views. The same calls return the same locations on every rank.
use super::layout::{Extent, GRAIN, PAGE};
use super::table::MinipageTable;
use crate::Minipage;
use foregather_machine::{Cause, Error};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request for an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The number of bytes, rounded up to a multiple of [`GRAIN`].
    pub bytes: usize,
    /// The location in the program: only allocations of the same site and size are chunked together.
    pub site: u32,
    /// How many consecutive allocations form one minipage (the chunking level of section 5 of the paper); 1
    /// for a minipage each.
    pub chunk: u32,
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The unit of sharing that it belongs to.
    pub minipage: Minipage,
    /// Its own bytes: the whole minipage, or its part of a chunk.
    pub extent: Extent,
    /// Whether the minipage is a new one.
    pub new: bool,
}

/// A minipage that receives further allocations of its site and size.
#[derive(Clone, Copy, Debug)]
struct OpenMinipage {
    minipage: Minipage,
    given: u32,
    level: u32,
}

/// Allocates the bytes of a space with given pages and views.
#[derive(Debug)]
pub struct Allocator {
    table: Arc<MinipageTable>,
    pages: usize,
    views: u32,
    /// For each page: the used bytes, as disjoint sorted ranges. Pages beyond these were never used.
    taken: Vec<Vec<(u16, u16)>>,
    /// For each number that was ever assigned: how many of its allocations have not been freed.
    live: Vec<u32>,
    /// Numbers that can be reused, last one first.
    spare: Vec<Minipage>,
    /// By size: no page before this one has room for it.
    from: BTreeMap<usize, u32>,
    chunks: BTreeMap<(u32, usize), OpenMinipage>,
    /// The minipages of allocations that have not been freed, by first byte.
    given: BTreeMap<usize, Minipage>,
}

impl Allocator {
    /// Creates the allocator of an object of that many pages, seen through that many views.
    ///
    /// # Errors
    /// [`Cause::Setting`] for no pages or views, or too many; [`Cause::Unavailable`] if there is no memory
    /// for its table.
    pub fn new(pages: u32, views: u32) -> Result<Self, Error> {
        if pages == 0 || views == 0 || u64::from(pages) * u64::from(views) >= u64::from(u32::MAX) || views >= 1 << 16 {
            let needs = "at least one of each, fewer than 65536 views, and fewer than 2^32 - 1 pages of all views";
            return Err(Error::from(Cause::Setting { what: "the pages and views of a shared space", needs }));
        }
        Ok(Self {
            table: Arc::new(MinipageTable::new(pages, views)?),
            pages: pages as usize,
            views,
            taken: Vec::new(),
            live: Vec::new(),
            spare: Vec::new(),
            from: BTreeMap::new(),
            chunks: BTreeMap::new(),
            given: BTreeMap::new(),
        })
    }

    /// Returns the table of all minipages, for handlers that must not wait.
    pub fn table(&self) -> &Arc<MinipageTable> {
        &self.table
    }

    /// Returns an upper bound of all numbers that were ever assigned.
    pub fn numbers(&self) -> u32 {
        self.live.len() as u32
    }

    /// Allocates bytes.
    ///
    /// # Errors
    /// [`Cause::Setting`] for 0 bytes or a chunking level of 0, [`Cause::Unavailable`] if there is no room.
    pub fn allocate(&mut self, wish: Wish) -> Result<Allocation, Error> {
        if wish.bytes == 0 || wish.chunk == 0 {
            let needs = "at least 1 byte, and a chunking level of at least 1";
            return Err(Error::from(Cause::Setting { what: "a shared allocation", needs }));
        }
        let bytes = wish.bytes.checked_next_multiple_of(GRAIN).ok_or_else(|| self.full(wish))?;
        let key = (wish.site, bytes);
        if let Some(chunk) = self.chunks.get_mut(&key)
            && chunk.level == wish.chunk
        {
            let (minipage, nth) = (chunk.minipage, chunk.given);
            chunk.given += 1;
            if chunk.given == chunk.level {
                self.chunks.remove(&key);
            }
            let whole = self.table.extent(minipage).expect("an open chunk is live");
            let extent = Extent { offset: whole.offset + nth as usize * bytes, bytes, ..whole };
            self.live[minipage.0 as usize] += 1;
            self.given.insert(extent.offset, minipage);
            return Ok(Allocation { minipage, extent, new: false });
        }
        let whole = bytes.checked_mul(wish.chunk as usize).ok_or_else(|| self.full(wish))?;
        let extent = if whole <= PAGE { self.within_a_page(whole) } else { self.over_pages(whole) };
        let extent = extent.ok_or_else(|| self.full(wish))?;
        let minipage = self.enter(extent);
        self.chunks.remove(&key);
        if wish.chunk > 1 {
            self.chunks.insert(key, OpenMinipage { minipage, given: 1, level: wish.chunk });
        }
        self.given.insert(extent.offset, minipage);
        Ok(Allocation { minipage, extent: Extent { bytes, ..extent }, new: true })
    }

    /// Frees the allocation that begins at that byte of the object. Returns the minipage if this was its last
    /// allocation: [`retire`](Self::retire) it when all copies are closed.
    ///
    /// # Errors
    /// [`Cause::Unavailable`] if no allocation begins there.
    pub fn free(&mut self, offset: usize) -> Result<Option<Minipage>, Error> {
        let minipage = self.given.remove(&offset).ok_or_else(|| {
            let what = format!("a shared allocation at byte {offset}");
            Error::from(Cause::Unavailable { what, remedy: "free each once, by the address that its allocation gave".to_owned() })
        })?;
        let live = &mut self.live[minipage.0 as usize];
        *live -= 1;
        let last = *live == 0;
        if last {
            self.chunks.retain(|_, chunk| chunk.minipage != minipage);
        }
        Ok(last.then_some(minipage))
    }

    /// Ends a minipage whose allocations are all freed. Its bytes, pages and number can be reused.
    ///
    /// # Panics
    /// If it still has allocations, or is already retired.
    pub fn retire(&mut self, minipage: Minipage) {
        let extent = self.table.extent(minipage).expect("a minipage is retired once");
        assert_eq!(self.live[minipage.0 as usize], 0, "{minipage:?} is still in use");
        self.table.remove(minipage, extent);
        self.spare.push(minipage);
        let span = extent.span();
        for (page, start, _) in parts(extent) {
            self.taken[page].retain(|&(from, _)| from != start);
        }
        // A long one may begin far before the freed pages.
        self.from.retain(|&bytes, _| bytes <= PAGE);
        for from in self.from.values_mut() {
            *from = (*from).min(span.page);
        }
    }

    fn within_a_page(&mut self, bytes: usize) -> Option<Extent> {
        let first = self.from.get(&bytes).copied().unwrap_or(0);
        for page in first..self.pages as u32 {
            if let Some(start) = gap(self.taken_of(page as usize), bytes)
                && let Some(view) = self.view(page)
            {
                self.from.insert(bytes, page);
                return Some(Extent { view, offset: page as usize * PAGE + start, bytes });
            }
        }
        self.from.insert(bytes, self.pages as u32);
        None
    }

    /// Allocates whole unused pages, and the beginning of one more for the rest.
    fn over_pages(&mut self, bytes: usize) -> Option<Extent> {
        let (whole, rest) = (bytes / PAGE, bytes % PAGE);
        let mut first = self.from.get(&bytes).copied().unwrap_or(0) as usize;
        while first.checked_add(whole + usize::from(rest > 0)).is_some_and(|end| end <= self.pages) {
            let used = &self.taken[first.min(self.taken.len())..(first + whole).min(self.taken.len())];
            if let Some(used) = used.iter().rposition(|taken| !taken.is_empty()) {
                first += used + 1;
                continue;
            }
            let tail = first + whole;
            let view =
                if rest == 0 { Some(0) } else { self.view(tail as u32).filter(|_| gap(self.taken_of(tail), rest) == Some(0)) };
            if let Some(view) = view {
                self.from.insert(bytes, first as u32);
                return Some(Extent { view, offset: first * PAGE, bytes });
            }
            first += 1;
        }
        None
    }

    /// Returns the first view in which that page is free.
    fn view(&self, page: u32) -> Option<u32> {
        (0..self.views).find(|&view| self.table.at(view, page).is_none())
    }

    fn enter(&mut self, extent: Extent) -> Minipage {
        let minipage = self.spare.pop().unwrap_or_else(|| {
            self.live.push(0);
            Minipage(self.live.len() as u32 - 1)
        });
        self.live[minipage.0 as usize] = 1;
        for (page, start, end) in parts(extent) {
            if self.taken.len() <= page {
                self.taken.resize_with(page + 1, Vec::new);
            }
            let taken = &mut self.taken[page];
            let at = taken.partition_point(|&(from, _)| from < start);
            taken.insert(at, (start, end));
        }
        self.table.enter(minipage, extent);
        minipage
    }

    /// Returns the used bytes of a page.
    fn taken_of(&self, page: usize) -> &[(u16, u16)] {
        self.taken.get(page).map_or(&[], Vec::as_slice)
    }

    /// Returns the error for an allocation without room.
    pub(crate) fn full(&self, wish: Wish) -> Error {
        let (pages, views) = (self.pages, self.views);
        let Wish { bytes, chunk, .. } = wish;
        let what = format!("room for {bytes} bytes, chunked by {chunk}, in a shared space of {pages} pages and {views} views");
        Error::from(Cause::Unavailable {
            what,
            remedy: "make the space larger, give it more views, or free something".to_owned(),
        })
    }
}

/// Returns the pages of an extent, and the range that it fills in each.
fn parts(extent: Extent) -> impl Iterator<Item = (usize, u16, u16)> {
    let end = extent.offset + extent.bytes;
    (extent.offset / PAGE..end.div_ceil(PAGE)).map(move |page| {
        let base = page * PAGE;
        (page, (extent.offset.max(base) - base) as u16, (end.min(base + PAGE) - base) as u16)
    })
}

/// Returns the first gap of that many bytes in a page.
fn gap(taken: &[(u16, u16)], bytes: usize) -> Option<usize> {
    let mut start = 0;
    for &(from, to) in taken {
        if usize::from(from) - start >= bytes {
            return Some(start);
        }
        start = usize::from(to);
    }
    (PAGE - start >= bytes).then_some(start)
}
