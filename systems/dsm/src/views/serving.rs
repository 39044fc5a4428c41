//! Serves the faults of a space.
use super::backend::Backend;
use super::fault::Faults;
use super::handler::{self, Hook};
use super::proxy::Proxy;
use super::space::Space;
use core::sync::atomic::Ordering::*;
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// Serves the faults of its space until it is dropped. After that, no thread may access closed pages.
#[derive(Debug)]
pub struct Serving {
    space: Arc<Space>,
    slot: usize,
    /// The thread that handles faults for others, if there is one; it exits before the slot is freed.
    proxy: Option<Proxy>,
}

impl Space {
    /// Calls `faults` for every access to a closed page, until the returned value is dropped.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the space has a handler already, or there are too many spaces; [`Cause::Os`] if
    /// the system refuses.
    pub fn serve(self: &Arc<Self>, faults: Arc<dyn Faults>) -> Result<Serving, Error> {
        Serving::begin(Arc::clone(self), faults)
    }
}

impl Serving {
    fn begin(space: Arc<Space>, faults: Arc<dyn Faults>) -> Result<Self, Error> {
        if space.served.swap(true, AcqRel) {
            let needs = "that the one before is dropped";
            return Err(Error::from(Cause::Setting { what: "serving the faults of a shared space twice", needs }));
        }
        Self::enter(&space, faults).inspect_err(|_| space.served.store(false, Release))
    }

    fn enter(space: &Arc<Space>, faults: Arc<dyn Faults>) -> Result<Self, Error> {
        handler::install()?;
        let signal = match space.backend() {
            Backend::Userfault => Some(libc::SIGBUS),
            Backend::Mprotect => Some(libc::SIGSEGV),
            Backend::UserfaultThread => None,
        };
        let slot = handler::enter(Hook { space: Arc::clone(space), faults: Arc::clone(&faults), signal })?;
        // After this, a failure frees the slot.
        let mut serving = Self { space: Arc::clone(space), slot, proxy: None };
        if let Some(events) = &space.events {
            serving.proxy = Some(Proxy::start(Arc::clone(space), Arc::clone(events), faults)?);
        }
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if !self.space.is_here() {
            // A forked child has no thread to stop; it would wait for its parent's thread.
            core::mem::forget(self.proxy.take());
            return;
        }
        drop(self.proxy.take());
        drop(handler::remove(self.slot));
        self.space.served.store(false, Release);
    }
}
