//! Failures of jobs over MPI: each job ends in time, with an error that gives the reason, and leaves no
//! process behind. The test starts itself under the launcher of each MPI.
mod installed;

use core::ffi::{c_int, c_void};
use foregather_host::dl::Library;
use foregather_machine::{Address, Fabric};
use foregather_mpi::abi::{ALL, Constant};
use foregather_mpi::{Lane, Mpi};
use installed::{Installed, installed, run_part};
use std::process::Output;
use std::time::{Duration, Instant};

/// The variable that tells a rank which failure to cause.
const PART: &str = "FOREGATHER_MPI_TEST_TROUBLE";
/// The variable that tells a process which libraries to load.
const LOADED: &str = "FOREGATHER_MPI_TEST_LOADED";
/// The time that a launcher may take to end the rest of a job.
const LONG: Duration = Duration::from_secs(20);

/// Runs as a rank. Does nothing if it was not started by a launcher.
#[test]
fn part() {
    let Some(trouble) = installed::part(PART) else { return };
    prepare(&trouble);
    let expected = (trouble == "launcher").then_some(2);
    let mpi = match Mpi::join((expected, false)) {
        Ok(mpi) => mpi,
        Err(error) => {
            eprintln!("refused here: {error}");
            std::process::exit(1);
        }
    };
    let lane = Lane::group(mpi, 1, None, None).unwrap().remove(0);
    if mpi.rank() == 1 {
        std::thread::sleep(Duration::from_millis(200));
        if trouble == "aborted" {
            abort(mpi);
        }
        // SAFETY: both calls end this process at once, without finalizing MPI.
        unsafe {
            if trouble == "killed" {
                libc::raise(libc::SIGKILL);
            }
            libc::_exit(3)
        }
    }
    let peer = Address { rank: 1, lane: 0 };
    loop {
        let found = lane.peek(peer, |head, _| head);
        assert_eq!(found, None);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the job as a program does that calls `MPI_Abort`.
fn abort(mpi: &Mpi) {
    let info = mpi.info();
    let library = Library::open(&[&info.path.to_string_lossy()]).unwrap();
    let abi = ALL.into_iter().find(|abi| abi.name == info.interface).unwrap();
    let world = match abi.comm_world {
        Constant::Number(number) => number,
        Constant::Symbol(name) => library.symbol(name).unwrap().addr(),
    };
    let address = library.symbol("MPI_Abort").unwrap();
    // SAFETY: MPI declares the function with these parameters; a handle fits a word.
    unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, c_int) -> c_int>(address)(world, 3) };
}

/// Prepares the process as a program may have done before it starts a job.
fn prepare(trouble: &str) {
    let load = |name: &str| Library::open(&[name]).unwrap();
    let first = std::env::var(LOADED).unwrap_or_default();
    let mut names = first.split(' ').filter(|name| !name.is_empty());
    let Some(library) = names.next().map(load) else { return };
    names.for_each(|name| drop(load(name)));
    if trouble == "initialised" {
        let address = library.symbol("MPI_Init").unwrap();
        // SAFETY: MPI declares the function with these parameters, and takes null for both.
        let code = unsafe {
            core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int, *mut c_void) -> c_int>(address)(
                core::ptr::null_mut(),
                core::ptr::null_mut(),
            )
        };
        assert_eq!(code, 0);
    }
}

/// Returns the output of a process that has these libraries loaded and no launcher.
fn alone_with(libraries: &[&str], trouble: &str) -> String {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.env(LOADED, libraries.join(" ")).env_remove("FOREGATHER_MPI");
    let output = run_part(command, PART, trouble);
    assert!(!output.status.success(), "{trouble}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_program_that_wants_mpi_for_one_thread_is_told_so() {
    for mpi in installed() {
        let said = alone_with(&[mpi.library()], "initialised");
        assert!(said.contains("refused here") && said.contains("MPI_THREAD_MULTIPLE"), "{}: {said}", mpi.name);
    }
}

#[test]
fn two_mpi_libraries_in_a_process_are_named() {
    let all = installed();
    if let [.., one, other] = &all[..] {
        let said = alone_with(&[one.library(), other.library()], "two");
        assert!(said.contains("two MPI libraries") && said.contains("FOREGATHER_MPI"), "{said}");
    }
}

fn run(mpi: &Installed, trouble: &str) -> Output {
    let began = Instant::now();
    let output = run_part(mpi.command(2), PART, trouble);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(began.elapsed() < LONG, "{}, {trouble}: {:?}\n{said}", mpi.name, began.elapsed());
    assert!(!output.status.success(), "{}, {trouble}: it ended well\n{said}", mpi.name);
    output
}

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    installed().iter().for_each(|mpi| drop(run(mpi, "killed")));
}

#[test]
fn a_rank_that_never_finalizes_mpi_ends_the_job() {
    installed().iter().for_each(|mpi| drop(run(mpi, "unfinished")));
}

#[test]
fn a_rank_that_aborts_ends_the_job_with_its_code() {
    for mpi in installed() {
        let output = run(&mpi, "aborted");
        // Both launchers name the rank, but a launcher that kills the job may lose the line.
        assert_eq!(output.status.code(), Some(3), "{}\n{}", mpi.name, String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_launcher_of_another_mpi_is_named() {
    let mpis = installed();
    for launcher in &mpis {
        for library in mpis.iter().filter(|library| library.family() != launcher.family()) {
            let output = run_part(launcher.with_library_of(library), PART, "launcher");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{} by {}", library.name, launcher.name);
            let names_it = said.contains("belongs to") && said.contains("FOREGATHER_MPI");
            assert!(names_it, "{} by {}:\n{said}", library.name, launcher.name);
        }
    }
}

#[test]
fn an_mpi_that_is_none_is_named() {
    for (file, said) in
        [("/no/such/libmpi.so", "is missing"), ("libm.so.6", "is not an MPI library with a known binary interface")]
    {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.env("FOREGATHER_MPI", file);
        let output = run_part(command, PART, "none");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(said) && text.contains("FOREGATHER_MPI"), "{text}");
    }
}
