//! The processes of these tests: ignored tests of this executable, which start it again.
use crate::ranks;
use crate::survivors::states::{State, now};
use crate::survivors::{in_that_state, say, survive};
use foregather_barrier::dissemination;
use foregather_host::{clock, interrupt};
use foregather_launch::spawn::{self, SpawnPlan};
use foregather_launch::{Job, Lanes};
use foregather_machine::{Error, Fabric, Nanos, block_on};
use foregather_message::{Messenger, Settings};
use std::env;
use std::fs::read_to_string;
use std::process::exit;
use std::time::Duration;

/// The time limit of a job: a longer one is killed, and has failed.
const LONG: Duration = Duration::from_secs(60);

/// Returns the command line of a rank's program in these tests, for this executable.
pub(crate) fn program(name: &str) -> Vec<String> {
    let name = format!("programs::{name}");
    let this = env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&this, "--exact", &name, "--ignored", "--nocapture", "--test-threads=1", "-q"].map(str::to_owned).to_vec()
}

/// Stays in one state until a rank is lost, and prints which.
#[test]
#[ignore = "a program of another test"]
fn state() {
    survive(State::ALL[env::var("TEST_STATE").unwrap().parse::<usize>().unwrap()]);
}

/// Opens its lanes after it has reported that it is ready, and waits at barriers until a rank is lost.
#[test]
#[ignore = "a program of another test"]
fn early() {
    let job = Job::join().unwrap();
    let rank = job.rank();
    say(&format!("ready {rank} {}", std::process::id()));
    let end = job.lanes(3).and_then(|lanes| match lanes {
        Lanes::Shm(lanes) => in_that_state(&job, lanes, State::Barrier),
        Lanes::Ofi(lanes) => in_that_state(&job, lanes, State::Barrier),
        Lanes::Mpi(lanes) => in_that_state(&job, lanes, State::Barrier),
    });
    let (at, error) = (now(), end.unwrap_err());
    match error.lost_rank() {
        Some(lost) => say(&format!("lost {rank} {} {lost} early", at.0)),
        None => say(&format!("other {rank} {error:?}")),
    }
    drop(job);
    exit(1);
}

/// Checks nothing for longer than its job lasts.
#[test]
#[ignore = "a program of another test"]
fn deaf() {
    let job = Job::join().unwrap();
    say(&format!("ready {} {}", job.rank(), std::process::id()));
    std::thread::sleep(LONG);
}

/// Runs the example, and prints how much memory it used.
#[test]
#[ignore = "a program of another test"]
fn example() {
    if let Err(error) = ranks::run() {
        say(&format!("wrong: {error}"));
        exit(1);
    }
    let status = read_to_string("/proc/self/status").unwrap();
    // Includes the pages that it touched of the shared memory.
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    say(&format!("memory {}", peak.trim()));
}

/// Computes for much longer than the peer timeout, and then waits at a barrier with all others.
#[test]
#[ignore = "a program of another test"]
fn computes() {
    fn around<F: Fabric>(lanes: Vec<F>) -> Result<(), Error> {
        for lane in lanes {
            let messenger = Messenger::new(lane, Settings::default())?;
            block_on(dissemination(&messenger))?;
            let until = clock::now() + Nanos::from_ms(3_000);
            while clock::now() < until {
                core::hint::black_box(0);
            }
            block_on(dissemination(&messenger))?;
            messenger.leave();
        }
        Ok(())
    }
    let job = Job::join().unwrap();
    let end = job.lanes(1).and_then(|lanes| match lanes {
        Lanes::Shm(lanes) => around(lanes),
        Lanes::Ofi(lanes) => around(lanes),
        Lanes::Mpi(lanes) => around(lanes),
    });
    say(&format!("met again {:?}", end.and_then(|()| job.leave())));
}

/// `foregather run`, with the number of ranks and the program in variables.
#[test]
#[ignore = "a program of another test"]
fn launcher() {
    interrupt::install().unwrap();
    std::thread::spawn(|| {
        std::thread::sleep(LONG);
        eprintln!("the job has not come to its end within {LONG:?}");
        // Its ranks are killed with this process.
        exit(98);
    });
    let program = program(&env::var("TEST_PROGRAM").unwrap()).into_iter().map(Into::into).collect();
    let plan = SpawnPlan { size: env::var("TEST_SIZE").unwrap().parse().unwrap(), program, ..SpawnPlan::default() };
    exit(spawn::run(&plan).map_or(99, i32::from));
}
