//! The end of the process: all ranks must finalize MPI, after the last message.
use crate::abi::STATUS_ROOM;
use crate::functions::MpiHandle;
use crate::library::OVERRIDE;
use crate::process::{Mpi, NAP, Status, nap};
use crate::wire::{BUFFER, HEAD};
use core::ffi::c_int;
use core::time::Duration;
use foregather_host::{clock, signals::Blocked};
use foregather_machine::Nanos;
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;

/// How long `MPI_Finalize` may take once all ranks have arrived. MPI libraries spin, so it takes seconds if
/// ranks share busy processors.
const FINALIZING: Nanos = Nanos::from_ms(60_000);
/// The maximum time of an MPI call, except for calls that wait for all ranks.
const CALLING: Nanos = Nanos::from_ms(1_000);
/// The advice in the message if `MPI_Finalize` takes too long.
const REMEDY: &str = "the job's work is done, so check its results; for MPICH 4 in a container on one host, set UCX_TLS=^tcp";

/// Registers a handler that finalizes MPI when the process calls `exit` or returns from `main`. The handler
/// does nothing in a forked child.
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
        // SAFETY: `finalise` lives forever and does not unwind: it panics nowhere and calls C.
        let full = unsafe { libc::atexit(finalise) };
        // If it is full, the launcher reports that this process has not finalized MPI.
        debug_assert!(full == 0, "the list of functions at exit is full");
    });
}

/// Runs MPI's initialisation. MPICH makes the process exit if it does not know the launcher; an exit handler
/// then prints what to do.
pub(crate) fn explained<T>(initialise: impl FnOnce() -> T) -> T {
    static INITIALISES: AtomicBool = AtomicBool::new(false);

    extern "C" fn explain() {
        if INITIALISES.load(Relaxed) {
            eprintln!(
                "foregather: MPI has ended this process while it was initialised: use the `mpiexec` that belongs to this MPI, or \
                 name the launcher's own library in {OVERRIDE}"
            );
        }
    }

    INITIALISES.store(true, Relaxed);
    // SAFETY: `explain` lives forever, and only loads a flag and prints.
    unsafe { libc::atexit(explain) };
    let done = initialise();
    INITIALISES.store(false, Relaxed);
    done
}

/// Runs MPI calls that wait for all ranks and have no time limit of their own. If they take longer than
/// `limit`, the process prints a message and exits, because no other thread could cancel the calls.
pub fn within<T>(limit: Nanos, what: &'static str, remedy: &'static str, calls: impl FnOnce() -> T) -> T {
    let (done, waits) = channel::<()>();
    // If the thread cannot be created, the calls have no limit, as in any MPI program.
    let _ = Builder::new().name("mpi-limit".to_owned()).spawn(move || {
        let _blocked = Blocked::but_faults();
        if waits.recv_timeout(Duration::from_nanos(limit.0)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("foregather: {what} has not returned within {limit}: a rank is missing or does not run; {remedy}");
            // SAFETY: the call has no requirements and exits the process at once.
            unsafe { libc::_exit(1) };
        }
    });
    let result = calls();
    drop(done);
    result
}

impl Mpi {
    /// Waits until all ranks have arrived here, receives the messages that no lane has received, and
    /// finalizes MPI. After the loss of a rank it does none of this, because `MPI_Finalize` waits for every
    /// rank and does not check the failure detector.
    fn finalise(&self) {
        if !self.is_callable() {
            let rank = self.rank();
            eprintln!(
                "foregather: rank {rank} exits, because MPI has ended its process within a call (MPI_Abort, or an error that MPI \
                 does not return): look at its launcher's output"
            );
            return;
        }
        // The second barrier lets the senders of long frames make progress while other ranks receive those
        // frames.
        let is_whole = self.meet() && self.drain() && self.meet();
        if !is_whole {
            eprintln!("foregather: MPI is not finalized, because a rank was lost");
            return;
        }
        let calls = self.calls();
        self.give_up();
        // SAFETY: all ranks are here, and no other thread calls MPI, now or later: the lock is never
        // released.
        within(FINALIZING, "MPI_Finalize", REMEDY, || unsafe { (calls.finalize)() });
        core::mem::forget(calls);
    }

    /// Returns whether MPI can be called. It cannot if MPI made the process exit from within a call, because
    /// the calling thread never releases the lock. Other calls release it within [`CALLING`].
    fn is_callable(&self) -> bool {
        let end = clock::now() + CALLING;
        while self.try_calls().is_none() {
            if clock::now() >= end {
                return false;
            }
            nap(NAP);
        }
        true
    }

    /// Polls a request until it has completed. Returns false if a rank was lost or MPI has failed.
    fn wait(&self, mut request: MpiHandle) -> bool {
        let (mut flag, mut status) = (0, Status([0; STATUS_ROOM]));
        while !self.is_over() {
            // SAFETY: the request is active until the flag is set; the results have room.
            let code = unsafe { (self.calls().test)(&raw mut request, &raw mut flag, status.0.as_mut_ptr()) };
            if code != 0 || flag != 0 {
                return code == 0;
            }
            nap(NAP);
        }
        false
    }

    /// Waits for all ranks in an `MPI_Ibarrier`. Returns false if a rank was lost or MPI has failed.
    fn meet(&self) -> bool {
        let mut request = self.request_null;
        // SAFETY: the communicator exists until MPI is finalized; the result has room.
        !self.is_over() && unsafe { (self.calls().ibarrier)(self.comm, &raw mut request) } == 0 && self.wait(request)
    }

    /// Receives the remaining frames to lanes that were already dropped, as MPI requires before it is
    /// finalized. Returns false on a failure.
    fn drain(&self) -> bool {
        let mut frame = vec![0_u8; HEAD + BUFFER];
        loop {
            let (mut request, mut status) = (self.request_null, Status([0; STATUS_ROOM]));
            let Some((source, tag)) = self.probe(&self.calls(), &mut status) else { return true };
            // SAFETY: no frame is longer than the buffer, which outlives the receive: it is leaked if the
            // receive does not complete.
            let code = unsafe {
                let room = (frame.as_mut_ptr().cast(), frame.len() as c_int);
                (self.calls().irecv)(room.0, room.1, self.byte, source, tag, self.comm, &raw mut request)
            };
            if code != 0 || !self.wait(request) {
                core::mem::forget(frame);
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::dl::Library;
    use std::process::Command;

    /// The variable that makes a process exit within a call of MPI, as MPI itself does.
    const PART: &str = "FOREGATHER_MPI_TEST_END";

    #[test]
    fn part() {
        if std::env::var_os(PART).is_none() {
            return;
        }
        // SAFETY: the call takes a number only. Whatever hangs, this process ends.
        unsafe { libc::alarm(60) };
        let mpi = Mpi::join((None, false)).unwrap();
        let _calls = mpi.calls();
        process::exit(7);
    }

    #[test]
    fn a_process_that_mpi_ends_within_a_call_exits_with_a_line() {
        for library in ["libmpich.so.12", "libmpi.so.40"].into_iter().filter(|name| Library::open(&[name]).is_ok()) {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "end::tests::part", "--nocapture"]).env(PART, "1").env("FOREGATHER_MPI", library);
            let output = command.env("UCX_TLS", "^tcp").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let is_named = said.contains("rank 0 exits, because MPI has ended its process");
            // A launcher's library may choose an exit code other than that of `exit`.
            assert!(is_named && !output.status.success(), "{library}: {}\n{said}", output.status);
        }
    }
}
