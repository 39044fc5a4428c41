//! A thread that handles faults on behalf of faulting threads, for programs that pass shared memory to system
//! calls, where signals cannot help.
//!
//! It serves one fault after another, and each costs two wake-ups. The faulting thread waits in the kernel.
use super::end::say;
use super::fault::{Fault, FaultEnd, Faults};
use super::layout::PAGE;
use super::protect::PageRange;
use super::space::Space;
use super::uffd::{Uffd, UffdMessage};
use crate::Access;
use core::ptr::{NonNull, null_mut};
use foregather_machine::{Cause, Error};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The thread, and how to stop it.
#[derive(Debug)]
pub(super) struct Proxy {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    pub(super) fn start(space: Arc<Space>, events: Arc<Uffd>, faults: Arc<dyn Faults>) -> Result<Self, Error> {
        let refused =
            |errno| Error::from(Cause::Os { what: "starting the thread that serves faults", errno, remedy: "raise `ulimit -u`" });
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|errno| refused(errno.raw_os_error()))?);
        let stopped = Arc::clone(&stop);
        let run = move || {
            take_no_signals();
            let served = catch_unwind(AssertUnwindSafe(|| {
                while wait(&events, &stopped) {
                    serve(&space, &events, &*faults);
                }
            }));
            // Otherwise the faulting thread would wait forever.
            if served.is_err() {
                std::process::abort();
            }
        };
        let thread =
            Builder::new().name("faults".to_owned()).spawn(run).map_err(|error| refused(error.raw_os_error().unwrap_or(0)))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let told = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        debug_assert!(told.is_ok(), "{told:?}");
        let ended = self.thread.take().map(JoinHandle::join);
        debug_assert!(matches!(ended, Some(Ok(()))));
    }
}

/// Sleeps until there may be a fault. Returns false if it is time to exit.
fn wait(events: &Uffd, stop: &OwnedFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(events.as_fd(), PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
    match poll(&mut fds, None) {
        Ok(_) => fds[1].revents().is_empty(),
        Err(errno) => errno == Errno::INTR,
    }
}

fn serve(space: &Space, events: &Uffd, faults: &dyn Faults) {
    while let Ok(Some(event)) = events.next() {
        let Some(fault) = fault(space, event) else { continue };
        if faults.fault(&fault) == FaultEnd::NotMine {
            say("a thread touched shared memory that belongs to nobody");
            std::process::abort();
        }
        // The call that opened the page woke the thread, but the page may have been open already.
        let page = event.address & !(PAGE - 1);
        let start = NonNull::new(core::ptr::without_provenance_mut(page)).expect("no view begins at 0");
        let woken = events.wake(PageRange { start, bytes: PAGE });
        debug_assert!(woken.is_ok(), "{woken:?}");
    }
}

fn fault(space: &Space, event: UffdMessage) -> Option<Fault> {
    Some(Fault {
        place: space.locate(event.address)?,
        needs: if event.write { Access::Write } else { Access::Read },
        address: event.address,
        code: 4 | u64::from(event.write) << 1 | u64::from(event.present),
        on_behalf_of: Some(event.thread),
    })
}

/// Blocks signals. The program's signal handlers must run on the program's threads: one that accessed shared
/// memory on this thread would wait for itself.
fn take_no_signals() {
    let mut all = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first call fills the set that the second one reads.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), null_mut());
    }
}
