//! Peers that one calls from one's own threads.
use crate::member::{give_up, member};
use crate::trouble::Trouble;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use foregather_bench::{Cell, Episodes};
use std::thread;

/// One thread a member, each with its own way to wait.
fn on_threads<W: FnMut() + Send>(cell: &Cell, episodes: &Episodes<'_>, mut wait: impl FnMut() -> W) {
    // All are made before the first is used: some barriers insist.
    let waits: Vec<W> = (0..cell.threads).map(|_| wait()).collect();
    thread::scope(|threads| {
        for (rank, wait) in (0..).zip(waits) {
            let started = thread::Builder::new().spawn_scoped(threads, move || member(cell, episodes, rank, wait));
            if let Err(error) = started {
                give_up(&format!("thread {rank} of {} cannot be started: {error}", cell.threads));
            }
        }
    });
}

pub(crate) fn hurdles(cell: &Cell, episodes: &Episodes<'_>) {
    let barrier = hurdles::Barrier::new(cell.threads as usize);
    on_threads(cell, episodes, || {
        let mut barrier = barrier.clone();
        move || {
            barrier.wait();
        }
    });
}

pub(crate) fn pthread(cell: &Cell, episodes: &Episodes<'_>) -> Result<(), Trouble> {
    let barrier = Pthread::new(cell.threads)?;
    on_threads(cell, episodes, || || barrier.wait());
    Ok(())
}

/// The C library's barrier, at an address that never changes.
struct Pthread(Box<UnsafeCell<libc::pthread_barrier_t>>);

// SAFETY: it is made to be shared; all its state is behind the C library's functions.
unsafe impl Sync for Pthread {}

impl Pthread {
    fn new(count: u32) -> Result<Self, Trouble> {
        let mut barrier = Box::new(MaybeUninit::<libc::pthread_barrier_t>::uninit());
        // SAFETY: the pointer is to memory for one barrier; null asks for the default attributes.
        let error = unsafe { libc::pthread_barrier_init(barrier.as_mut_ptr(), core::ptr::null(), count) };
        if error != 0 {
            return Err(Trouble::Failed(format!("pthread_barrier_init failed: error {error}")));
        }
        let barrier = Box::into_raw(barrier).cast::<UnsafeCell<libc::pthread_barrier_t>>();
        // SAFETY: the box above, whose content has been initialised and has the same layout.
        Ok(Self(unsafe { Box::from_raw(barrier) }))
    }

    fn wait(&self) {
        // SAFETY: the barrier was initialised, has not moved since, and is not destroyed while it is borrowed.
        let error = unsafe { libc::pthread_barrier_wait(self.0.get()) };
        debug_assert!(error == 0 || error == libc::PTHREAD_BARRIER_SERIAL_THREAD, "pthread_barrier_wait: {error}");
    }
}

impl Drop for Pthread {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more; the call returns when the last waiter has left.
        unsafe { libc::pthread_barrier_destroy(self.0.get()) };
    }
}
