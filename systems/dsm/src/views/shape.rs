//! The pages and views of a space.
use super::backend::Backend;
use super::layout::PAGE;

/// The shape of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The pages of the object, each of [`PAGE`] bytes.
    pub pages: u32,
    /// The number of application views: this many minipages may share a page.
    pub views: u32,
    /// The maximum number of views: beyond about 32, address translation costs more than the views save
    /// (README).
    pub most_views: u32,
    /// How pages are protected; `None` for the best backend of this machine.
    pub backend: Option<Backend>,
    /// How many pages get memory at the start; the others use none until [`Space::fill`](super::Space::fill)
    /// allocates it.
    pub filled: u32,
    /// The preferred address of the first view; `None` for any address with room.
    pub base: Option<usize>,
}

impl Shape {
    /// Creates a shape of `pages` pages and `views` views. All pages have memory; the rest has default
    /// values.
    pub const fn new(pages: u32, views: u32) -> Self {
        Self { pages, views, most_views: 32, backend: None, filled: pages, base: None }
    }

    /// Returns the bytes of address space of all views together, or `None` if that overflows.
    pub(super) fn reserved(&self) -> Option<usize> {
        let views = usize::try_from(self.views).ok()?.checked_add(1)?;
        let bytes = usize::try_from(self.pages).ok()?.checked_mul(PAGE)?.checked_mul(views)?;
        (bytes <= isize::MAX as usize && u64::from(self.pages) * u64::from(self.views) < u64::from(u32::MAX)).then_some(bytes)
    }
}
