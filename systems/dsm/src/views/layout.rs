//! Locations: an address as view, page and offset; a minipage as bytes of the object in one view; the pages
//! to protect.
//!
//! All of this is arithmetic, and the same on every rank.

/// Bytes of a page, the unit of protection. It is the same on every rank, so the machine's page size is not
/// used (see [`Space::new`](super::Space::new)).
pub const PAGE: usize = 4_096;
/// Minipages begin and end at multiples of this many bytes, so that a program's words are never split between
/// two.
pub const GRAIN: usize = 8;

/// An address within the application views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ViewAddress {
    /// The view.
    pub view: u32,
    /// The page of the object.
    pub page: u32,
    /// The byte of the page.
    pub offset: u32,
}

impl ViewAddress {
    /// Returns the offset of the byte in the object.
    pub const fn byte(self) -> usize {
        self.page as usize * PAGE + self.offset as usize
    }
}

/// Neighbouring pages of one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The view.
    pub view: u32,
    /// The first page.
    pub page: u32,
    /// The number of pages.
    pub pages: u32,
}

/// The bytes of a minipage and the view through which applications see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The view.
    pub view: u32,
    /// The offset of its first byte in the object.
    pub offset: usize,
    /// The number of bytes; at least 1.
    pub bytes: usize,
}

impl Extent {
    /// Returns the pages of its view that it overlaps. They are opened and closed for this minipage only.
    pub const fn span(self) -> Span {
        let first = self.offset / PAGE;
        let last = (self.offset + self.bytes - 1) / PAGE;
        Span { view: self.view, page: first as u32, pages: (last - first + 1) as u32 }
    }

    /// Returns whether that address is one of its bytes. A fault in its pages but outside its bytes is a
    /// mistake of the program, and is only detected while they are closed.
    pub const fn holds(self, place: ViewAddress) -> bool {
        place.view == self.view && place.byte() >= self.offset && place.byte() - self.offset < self.bytes
    }
}
