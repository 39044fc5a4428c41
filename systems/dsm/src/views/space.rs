//! A memory object with its views, and the protection of every page of every view.
use super::backend::Backend;
use super::copy;
use super::layout::{PAGE, Span, ViewAddress};
use super::limits::{ProcessLimits, Room};
use super::mapping::Mapping;
use super::mprotect::Mprotect;
use super::protect::{PageRange, Protect, Refused};
use super::shape::Shape;
use super::uffd::Uffd;
use super::userfault::Userfault;
use crate::Access;
use core::ptr::NonNull;
use core::sync::atomic::AtomicBool;
use foregather_machine::{Cause, Error};
use rustix::mm::ProtFlags;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A memory object, its application views, whose pages are initially closed, and its privileged view, which
/// is always open.
///
/// An access to a closed page calls the [`Faults`](super::Faults) of this space ([`Space::serve`]). If there
/// is none, the signal kills the process.
pub struct Space {
    mapping: Mapping,
    protect: Box<dyn Protect>,
    /// The descriptor that reports faults, if a thread serves them.
    pub(super) events: Option<Arc<Uffd>>,
    pub(super) served: AtomicBool,
    shape: Shape,
    backend: Backend,
    /// The number of pages that have memory.
    filled: Mutex<u32>,
    warning: OnceLock<Error>,
}

impl Space {
    /// Checks the limits of this process, then reserves addresses, creates the object and maps it.
    ///
    /// # Errors
    /// [`Cause::Setting`] for an impossible shape, [`Cause::Unavailable`] or [`Cause::Os`] for what this
    /// machine lacks or forbids.
    pub fn new(shape: Shape) -> Result<Self, Error> {
        if rustix::param::page_size() != PAGE {
            let what = format!("a kernel with pages of {PAGE} bytes");
            return Err(Error::from(Cause::Unavailable {
                what,
                remedy: "this one has others: boot one with 4 KiB pages".to_owned(),
            }));
        }
        let backend = shape.backend.unwrap_or_else(|| Backend::chosen().0);
        ProcessLimits::read().check(&shape, backend)?;
        let open = ProtFlags::READ | ProtFlags::WRITE;
        let mapping = Mapping::new(&shape, if backend == Backend::Mprotect { ProtFlags::empty() } else { open })?;
        let (protect, events): (Box<dyn Protect>, _) = match backend {
            Backend::Mprotect => (Box::new(Mprotect), None),
            Backend::Userfault | Backend::UserfaultThread => {
                let uffd = Arc::new(Uffd::new(backend == Backend::Userfault)?);
                uffd.register(PageRange { start: mapping.view(0), bytes: mapping.application_bytes() })?;
                mapping.forget()?;
                let events = (backend == Backend::UserfaultThread).then(|| Arc::clone(&uffd));
                (Box::new(Userfault { uffd }), events)
            }
        };
        let (filled, warning) = (Mutex::new(0), OnceLock::new());
        let space = Self { mapping, protect, events, served: AtomicBool::new(false), shape, backend, filled, warning };
        space.fill(shape.filled)?;
        Ok(space)
    }

    /// Allocates memory for the first `pages` pages, if they have none yet.
    ///
    /// # Errors
    /// [`Cause::Os`] if there is too little memory.
    ///
    /// # Panics
    /// If there are fewer pages.
    pub fn fill(&self, pages: u32) -> Result<(), Error> {
        assert!(pages <= self.pages(), "page {pages} of {}", self.pages());
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        if pages > *filled {
            let bytes = *filled as usize * PAGE..pages as usize * PAGE;
            self.mapping.fill(bytes.clone())?;
            if self.mapping.lock(bytes).is_err() {
                self.warning.get_or_init(|| unlocked(self.mapping.view_bytes));
            }
            *filled = pages;
        }
        Ok(())
    }

    /// Returns the number of pages of the object.
    pub fn pages(&self) -> u32 {
        self.shape.pages
    }

    /// Returns the number of application views.
    pub fn views(&self) -> u32 {
        self.shape.views
    }

    /// Returns the size of the object in bytes.
    pub fn bytes(&self) -> usize {
        self.mapping.view_bytes
    }

    /// Returns how its pages are protected.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns a warning if the object is not locked in memory; the space works without that.
    pub fn warning(&self) -> Option<&Error> {
        self.warning.get()
    }

    /// Returns the address of a byte of the object as applications see it through that view.
    ///
    /// # Panics
    /// If there is no such view or byte.
    pub fn application(&self, view: u32, offset: usize) -> *mut u8 {
        assert!(view < self.views() && offset < self.bytes(), "byte {offset} of view {view}");
        // SAFETY: within the view by the check before.
        unsafe { self.mapping.view(view).add(offset) }.as_ptr()
    }

    /// Returns the address of a byte of the object in the privileged view, which is always open.
    ///
    /// # Panics
    /// If there is no such byte.
    pub fn privileged(&self, offset: usize) -> *mut u8 {
        self.shared(offset, 1).as_ptr()
    }

    /// Returns the location of an address, if it lies within an application view.
    #[inline]
    pub fn locate(&self, address: usize) -> Option<ViewAddress> {
        let within = address.checked_sub(self.mapping.view(0).as_ptr().addr())?;
        let (view, byte) = (within / self.mapping.view_bytes, within % self.mapping.view_bytes);
        (view < self.mapping.views as usize).then_some(ViewAddress {
            view: view as u32,
            page: (byte / PAGE) as u32,
            offset: (byte % PAGE) as u32,
        })
    }

    /// Copies bytes of the object, even if its views are closed.
    ///
    /// # Errors
    /// In a forked child of the process that created this space.
    ///
    /// # Panics
    /// If the object has no such bytes.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Refused> {
        let from = self.shared(offset, into.len());
        self.here()?;
        // SAFETY: `into.len()` bytes of the privileged view, mapped as long as self; here they are accessed
        // atomically only.
        unsafe { copy::out_of(from, into) };
        Ok(())
    }

    /// Changes bytes of the object, even if its views are closed. **First write, then open**: the opposite
    /// order loses what other threads write in between.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    ///
    /// # Panics
    /// As for [`read`](Self::read).
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), Refused> {
        let to = self.shared(offset, from.len());
        self.here()?;
        // SAFETY: `from.len()` bytes of the privileged view, mapped as long as self and writable; here they
        // are accessed atomically only.
        unsafe { copy::into(to, from) };
        Ok(())
    }

    /// Opens closed pages of a view for reading or writing, or read-only ones for writing. `from` is the
    /// access so far.
    ///
    /// # Errors
    /// If the system refuses, or in a forked child of the process that created this space.
    ///
    /// # Panics
    /// If there are no such pages, or `to` is not more than `from`.
    pub fn open(&self, span: Span, from: Access, to: Access) -> Result<(), Refused> {
        assert!(from < to, "from {from:?} to {to:?} opens nothing");
        let at = self.stretch(span)?;
        if to == Access::Write { self.protect.open_write(at, from) } else { self.protect.open_read(at) }
    }

    /// Makes pages of a view read-only. When it returns, no processor is still writing.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    ///
    /// # Panics
    /// If there are no such pages.
    pub fn downgrade(&self, span: Span) -> Result<(), Refused> {
        self.protect.downgrade(self.stretch(span)?)
    }

    /// Closes pages of a view, whatever their access is. When it returns, no processor is still reading or
    /// writing.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    ///
    /// # Panics
    /// If there are no such pages.
    pub fn close(&self, span: Span) -> Result<(), Refused> {
        self.protect.close(self.stretch(span)?)
    }

    fn stretch(&self, span: Span) -> Result<PageRange, Refused> {
        let end = u64::from(span.page) + u64::from(span.pages);
        assert!(span.view < self.views() && span.pages > 0 && end <= u64::from(self.pages()), "no such pages: {span:?}");
        self.here()?;
        // SAFETY: within the view by the check before.
        let start = unsafe { self.mapping.view(span.view).add(span.page as usize * PAGE) };
        Ok(PageRange { start, bytes: span.pages as usize * PAGE })
    }

    fn shared(&self, offset: usize, bytes: usize) -> NonNull<u8> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes());
        assert!(end.is_some(), "bytes from {offset} on, {bytes} of them, of {}", self.bytes());
        // SAFETY: within the privileged view, or at its end, by the check before.
        unsafe { self.mapping.privileged().add(offset) }
    }

    /// Returns whether this is the process that created it, not a forked child.
    pub(super) fn is_here(&self) -> bool {
        self.mapping.origin.is_here()
    }

    fn here(&self) -> Result<(), Refused> {
        const FORKED: Refused = Refused {
            what: "using shared memory in a child of the process that made it",
            errno: libc::EPERM,
            remedy: "fork before the shared memory is made, or start another program",
        };
        if self.is_here() { Ok(()) } else { Err(FORKED) }
    }
}

impl Backend {
    /// Returns the better of the two backends in which faulting threads serve themselves and, if that is not
    /// userfaultfd, why not. Tested once per process.
    pub fn chosen() -> (Self, Option<Error>) {
        static REFUSAL: OnceLock<Option<Error>> = OnceLock::new();
        match REFUSAL.get_or_init(|| Self::Userfault.available().err()) {
            None => (Self::Userfault, None),
            Some(refusal) => (Self::Mprotect, Some(refusal.clone())),
        }
    }

    /// Checks whether it works here, by testing all of its transitions on a page.
    ///
    /// # Errors
    /// What this machine lacks or forbids, and what to do about it.
    pub fn available(self) -> Result<(), Error> {
        let space = Space::new(Shape { backend: Some(self), ..Shape::new(1, 1) })?;
        let span = Span { view: 0, page: 0, pages: 1 };
        space.open(span, Access::None, Access::Read)?;
        space.open(span, Access::Read, Access::Write)?;
        space.downgrade(span)?;
        space.close(span)?;
        space.open(span, Access::None, Access::Write)?;
        Ok(())
    }
}

impl Room {
    /// Returns the default size of each of `spaces` spaces of this process, for the way in which pages would
    /// be protected here: a quarter of the memory that is free now, or less if there are too few mappings or
    /// addresses. A space that is [filled](Space::fill) as it is used needs none of that memory before.
    pub fn of(spaces: u32, backend: Option<Backend>) -> Self {
        ProcessLimits::read().room(spaces.max(1).into(), backend.unwrap_or_else(|| Backend::chosen().0))
    }
}

foregather_machine::debug_by! { [] Space, "Space", |this| shape: this.shape, backend: this.backend }

fn unlocked(bytes: usize) -> Error {
    let kib = bytes.div_ceil(1_024);
    let what = format!("leave to lock {kib} KiB of shared memory, so pages that are swapped out may be touched unnoticed,");
    Error::from(Cause::Unavailable { what, remedy: format!("`ulimit -l {kib}` or more, or run without swap") })
}
