//! The end of the process: MPI wants to be finalized, by all ranks, and not before the last message.
use crate::abi::STATUS_ROOM;
use crate::process::{Mpi, NAP, Status};
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread::sleep;

/// Finalizes MPI when the process ends by `exit` or by the end of `main`: not in a child that it has forked.
pub(crate) fn finalise_at_exit() {
    static ONCE: Once = Once::new();
    static OWNER: AtomicU32 = AtomicU32::new(0);

    extern "C" fn finalise() {
        if OWNER.load(Relaxed) == process::id()
            && let Some(mpi) = Mpi::joined()
        {
            mpi.finalise();
        }
    }

    ONCE.call_once(|| {
        OWNER.store(process::id(), Relaxed);
        // SAFETY: `finalise` lives for ever and does not unwind: it panics nowhere and calls C.
        let full = unsafe { libc::atexit(finalise) };
        // Then the launcher reports that this process has not finalized MPI.
        debug_assert!(full == 0, "the list of functions at exit is full");
    });
}

impl Mpi {
    /// Waits until all ranks have come here, then finalizes MPI. After a loss it does neither: `MPI_Finalize`
    /// waits for every rank and looks at no failure detector.
    fn finalise(&self) {
        let (mut request, mut here, mut status) = (self.request_null, 0, Status([0; STATUS_ROOM]));
        // SAFETY: the communicator exists until MPI is finalized; the result has room.
        if self.is_over() || unsafe { (self.calls().ibarrier)(self.comm, &raw mut request) } != 0 {
            return;
        }
        loop {
            // SAFETY: the request is that of the barrier, and MPI writes null over it in the end.
            let code = unsafe { (self.calls().test)(&raw mut request, &raw mut here, status.0.as_mut_ptr()) };
            if code != 0 || self.is_over() {
                eprintln!("foregather: MPI is not finalized, because a rank was lost");
                return;
            }
            if here != 0 {
                break;
            }
            sleep(NAP);
        }
        let calls = self.calls();
        // SAFETY: all ranks are here; from the end of this call's turn on no thread calls MPI, since it is over.
        unsafe { (calls.finalize)() };
        self.give_up();
        drop(calls);
    }
}
