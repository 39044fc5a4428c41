//! The shape of a space: its pages and views.
use super::backend::Backend;
use super::layout::PAGE;

/// The shape of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages of the object, each of [`PAGE`] bytes.
    pub pages: u32,
    /// Application views: this many minipages may share a page.
    pub views: u32,
    /// The most views: beyond about 32, address translation costs more than it saves (README).
    pub most_views: u32,
    /// How pages are protected; `None` for the better way that this machine has.
    pub backend: Option<Backend>,
    /// How many pages have their memory from the beginning on; the others take none until
    /// [`Space::fill`](super::Space::fill) gives it to them.
    pub filled: u32,
    /// The address at which the first view should begin; `None` for any with room.
    pub base: Option<usize>,
}

impl Shape {
    /// `pages` pages and `views` views, all pages with their memory; else the defaults.
    pub const fn new(pages: u32, views: u32) -> Self {
        Self { pages, views, most_views: 32, backend: None, filled: pages, base: None }
    }

    /// Bytes of address space that all views take together, if there are as many.
    pub(super) fn reserved(&self) -> Option<usize> {
        let views = usize::try_from(self.views).ok()?.checked_add(1)?;
        let bytes = usize::try_from(self.pages).ok()?.checked_mul(PAGE)?.checked_mul(views)?;
        (bytes <= isize::MAX as usize && u64::from(self.pages) * u64::from(self.views) < u64::from(u32::MAX)).then_some(bytes)
    }
}
