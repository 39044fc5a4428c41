//! Lanes over each installed MPI pass the suite that all fabrics must pass, including the programs over
//! messages. The test starts itself under the launcher of that MPI.
mod installed;
mod shared;

use foregather_conformance::fabric::Program;
use foregather_machine::block_on;
use foregather_mpi::{Lane, Mpi};
use installed::{Installed, installed, run_part};
use std::io::Write;

/// The variable that makes this program run as a rank; its value, `bells` or `naps`, says whether ranks wake
/// each other.
const PART: &str = "FOREGATHER_MPI_TEST_PART";
const ROUNDS: u32 = 10;

/// Runs as a rank: every program for this number of ranks, each on new lanes. Does nothing if it was not
/// started by a launcher.
#[test]
fn part() {
    let Some(how) = installed::part(PART) else { return };
    let mpi = Mpi::join((None, false)).unwrap();
    for program in Program::ALL.into_iter().filter(|program| program.ranks() == mpi.size()) {
        if mpi.rank() == 0 {
            // One write: MPI prints to the same stream.
            std::io::stderr().write_all(format!("ran {}.\n", program.name()).as_bytes()).unwrap();
        }
        let bells = (how == "bells").then(|| shared::bells(mpi, program.lanes()));
        let lanes = Lane::group(mpi, program.lanes(), None, bells).unwrap();
        std::thread::scope(|scope| {
            for lane in lanes {
                scope.spawn(move || block_on(program.run(lane, ROUNDS)));
            }
        });
    }
}

fn run(mpi: &Installed, ranks: u32, how: &str) {
    let output = run_part(mpi.command(ranks), PART, how);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}, {ranks} ranks by {how}: {}\n{said}", mpi.name, output.status);
    let programs = Program::ALL.into_iter().filter(|program| program.ranks() == ranks);
    for program in programs {
        assert!(said.contains(&format!("ran {}.", program.name())), "{}: {program:?} did not run\n{said}", mpi.name);
    }
}

#[test]
fn processes_conform_over_every_mpi() {
    for mpi in installed() {
        for ranks in [2, 3, 5] {
            run(&mpi, ranks, "bells");
        }
        run(&mpi, 2, "naps");
    }
}
