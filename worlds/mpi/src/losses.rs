//! Lost ranks that MPI reports. Open MPI 5 and newer has User Level Failure Mitigation (ULFM). MPICH has the
//! error classes, but its functions abort the process (`ch4`).
use crate::abi::OPEN_MPI;
use crate::functions::MpiHandle;
use crate::process::Mpi;
use core::ffi::{c_int, c_void};
use foregather_machine::Rank;

type ToHandle = unsafe extern "C" fn(MpiHandle, *mut MpiHandle) -> c_int;
type ToNumber = unsafe extern "C" fn(MpiHandle, *mut c_int) -> c_int;
type Translate = unsafe extern "C" fn(MpiHandle, c_int, *const c_int, MpiHandle, *mut c_int) -> c_int;
type FreeHandle = unsafe extern "C" fn(*mut MpiHandle) -> c_int;

impl Mpi {
    /// Returns the first rank that MPI reports as lost; `None` if it reports none or has no such functions.
    /// The caller must hold MPI's lock.
    #[cold]
    pub(crate) fn lost_rank(&self) -> Option<Rank> {
        if *self.found.abi != OPEN_MPI {
            return None;
        }
        let find = |name| self.found.library.symbol(name).ok();
        // SAFETY: the MPI standard declares the functions on groups with these parameters, and the ULFM
        // proposal declares the other one.
        let (group_of, size_of, translate, free, get_failed) = unsafe {
            (
                core::mem::transmute::<*mut c_void, ToHandle>(find("MPI_Comm_group")?),
                core::mem::transmute::<*mut c_void, ToNumber>(find("MPI_Group_size")?),
                core::mem::transmute::<*mut c_void, Translate>(find("MPI_Group_translate_ranks")?),
                core::mem::transmute::<*mut c_void, FreeHandle>(find("MPI_Group_free")?),
                core::mem::transmute::<*mut c_void, ToHandle>(find("MPIX_Comm_get_failed")?),
            )
        };
        let (mut failed, mut all) = (MpiHandle(0), MpiHandle(0));
        let (mut count, first, mut rank): (c_int, c_int, c_int) = (0, 0, -1);
        // SAFETY: the communicator exists, each result has room, and the groups are freed once.
        unsafe {
            // The empty group is a constant, which must not be freed.
            if get_failed(self.comm, &raw mut failed) != 0 || size_of(failed, &raw mut count) != 0 || count == 0 {
                return None;
            }
            if group_of(self.comm, &raw mut all) == 0 {
                translate(failed, 1, &raw const first, all, &raw mut rank);
                free(&raw mut all);
            }
            free(&raw mut failed);
        }
        Rank::try_from(rank).ok().filter(|&rank| rank < self.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::MPICH;
    use foregather_host::dl::Library;
    use std::process::Command;

    /// The variable that makes a process join MPI as a job of one rank.
    const PART: &str = "FOREGATHER_MPI_TEST_LOSSES";

    #[test]
    fn part() {
        if std::env::var_os(PART).is_none() {
            return;
        }
        // SAFETY: the call takes a number only. Whatever hangs, this process ends.
        unsafe { libc::alarm(60) };
        let mpi = Mpi::join((None, false)).unwrap();
        let _calls = mpi.calls();
        assert_eq!(mpi.lost_rank(), None);
        if *mpi.found.abi == MPICH {
            // Error classes are also valid error codes.
            let error = mpi.done("MPI_Isend", Some(0), MPICH.loss_classes[0]).unwrap_err();
            assert_eq!(error.lost_rank(), Some(0), "{error}");
        }
        let other = mpi.done("MPI_Isend", Some(0), 2).unwrap_err();
        assert_eq!(other.lost_rank(), None, "{other}");
        println!("no rank was lost");
    }

    #[test]
    fn an_error_of_the_class_names_the_rank_and_others_do_not() {
        for library in ["libmpich.so.12", "libmpi.so.40"].into_iter().filter(|name| Library::open(&[name]).is_ok()) {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "losses::tests::part", "--nocapture"]).env(PART, "1").env("FOREGATHER_MPI", library);
            let output = command.env("UCX_TLS", "^tcp").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let is_done = String::from_utf8_lossy(&output.stdout).contains("no rank was lost");
            assert!(output.status.success() && is_done, "{library}: {}\n{said}", output.status);
        }
    }
}
