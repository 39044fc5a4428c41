//! Where something is: an address as view, page and offset; a minipage as bytes of the object in one view; the pages to protect.
//!
//! All of it is arithmetic, the same on every rank.

/// Bytes of a page: what is protected at once. The same on every rank, so it is not asked of the machine (see [`Space::new`](super::Space::new)).
pub const PAGE: usize = 4_096;
/// Minipages begin at, and their lengths are, multiples of so many bytes: words of programs are never split between two.
pub const GRAIN: usize = 8;

/// An address within the application views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ViewAddress {
    /// Through which view.
    pub view: u32,
    /// Which page of the object.
    pub page: u32,
    /// Which byte of the page.
    pub offset: u32,
}

impl ViewAddress {
    /// Which byte of the object.
    pub const fn byte(self) -> usize {
        self.page as usize * PAGE + self.offset as usize
    }
}

/// Neighbouring pages of one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Of which view.
    pub view: u32,
    /// The first page.
    pub page: u32,
    /// How many.
    pub pages: u32,
}

/// The bytes of a minipage and the view through which applications see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Through which view.
    pub view: u32,
    /// Its first byte in the object.
    pub offset: usize,
    /// How many bytes; at least 1.
    pub bytes: usize,
}

impl Extent {
    /// The pages of its view that it touches: those that are opened and closed for it, and nothing else's.
    pub const fn span(self) -> Span {
        let first = self.offset / PAGE;
        let last = (self.offset + self.bytes - 1) / PAGE;
        Span { view: self.view, page: first as u32, pages: (last - first + 1) as u32 }
    }

    /// Is that address one of its bytes? A fault in its pages but outside its bytes is a program's mistake, and is seen only
    /// while they are closed.
    pub const fn holds(self, place: ViewAddress) -> bool {
        place.view == self.view && place.byte() >= self.offset && place.byte() - self.offset < self.bytes
    }
}
