//! Tests of views that need unsafe code: system calls on shared pointers, forks, handlers, invalid pointers.
mod child;
mod even;
mod fork;
mod layout;
mod protection;
mod race;
mod stray;
mod syscalls;

use super::{Backend, Fault, FaultEnd, Faults, Shape, Space, Span, Stack};
use crate::Access;
use std::sync::{Arc, Mutex};

const BACKENDS: [Backend; 3] = [Backend::Userfault, Backend::UserfaultThread, Backend::Mprotect];

/// Returns the backends of this machine, which always include mprotect.
fn backends() -> Vec<Backend> {
    BACKENDS.into_iter().filter(|backend| backend.available().is_ok()).collect()
}

/// Opens every accessed page as requested, and records the faults.
struct Opener {
    space: Arc<Space>,
    seen: Mutex<Vec<Fault>>,
}

impl Opener {
    fn new(backend: Backend, pages: u32, views: u32) -> Arc<Self> {
        let space = Space::new(Shape { backend: Some(backend), ..Shape::new(pages, views) }).unwrap();
        Arc::new(Self { space: Arc::new(space), seen: Mutex::default() })
    }

    /// Returns the faults since the last call.
    fn seen(&self) -> Vec<Fault> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// Returns their processor error codes.
    fn codes(&self) -> Vec<u64> {
        self.seen().iter().map(|fault| fault.code).collect()
    }
}

impl Faults for Opener {
    fn fault(&self, fault: &Fault) -> FaultEnd {
        let span = Span { view: fault.place.view, page: fault.place.page, pages: 1 };
        let from = if fault.code & 1 == 0 { Access::None } else { Access::Read };
        self.seen.lock().unwrap().push(*fault);
        self.space.open(span, from, fault.needs).unwrap();
        FaultEnd::Retry
    }
}

fn page(view: u32, page: u32) -> Span {
    Span { view, page, pages: 1 }
}

/// Returns the signal stack that every thread needs to access shared memory.
fn stack() -> Stack {
    Stack::install().unwrap()
}
