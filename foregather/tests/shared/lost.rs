//! Ranks that are processes run the same program, and one rank is killed or ends in another way at any point.
use crate::ends::{STEPS, on_purpose, program};
use foregather::processes::launch::spawn::{self, SpawnPlan};
use foregather::processes::ofi::Provider;
use foregather::{Error, Shared, shared};
use rustix::process::{Signal, getpid, kill_process};
use std::env;
use std::process::{Command, Stdio, exit};
use std::time::Duration;

/// The ranks of a job; the one in the middle ends.
const SIZE: u32 = 3;
/// The time limit of a job: a longer one is killed, and has failed.
const LONG: Duration = Duration::from_secs(60);
/// The step at which it ends while it holds the lock.
const LOCKED: u32 = STEPS;

/// Returns a command line for this executable.
fn part(name: &str) -> Vec<String> {
    let name = format!("lost::{name}");
    let this = env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&this, "--exact", &name, "--ignored", "--nocapture", "--test-threads=1", "-q"].map(str::to_owned).to_vec()
}

/// Runs a job in which rank 1 ends in that way at that step; returns its exit code and all ranks' output.
fn job(fabric: &str, name: &str, how: &str, step: u32) -> (Option<i32>, String) {
    let words = part("launcher");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    for (variable, _) in env::vars() {
        if ["FOREGATHER_", "PMI_", "PMIX_", "OMPI_", "SLURM_"].iter().any(|of| variable.starts_with(of)) {
            command.env_remove(variable);
        }
    }
    let done = command
        .env("FOREGATHER_FABRIC", fabric)
        .env("TEST_PART", name)
        .env("TEST_HOW", how)
        .env("TEST_STEP", step.to_string())
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// Checks that all ranks but the one in the middle name it: in an error or, at a load or store, in the last
/// line of their process.
fn all_name_it(said: &str, how: &str, step: u32) {
    for rank in [0, 2] {
        let own = [format!("rank {rank} ended: "), format!("rank {rank} cannot ")];
        let named = |line: &str| own.iter().any(|own| line.split_once(own).is_some_and(|(_, why)| why.contains("rank 1 ")));
        assert!(said.lines().any(named), "{how} before step {step}: rank {rank} did not say so:\n{said}");
    }
}

#[test]
fn survivors_name_a_rank_that_is_killed_at_any_point() {
    for step in 0..=LOCKED {
        let (code, said) = job("shm", "ends", "is killed", step);
        assert_eq!(code, Some(137), "before step {step}: {said}");
        all_name_it(&said, "killed", step);
    }
}

#[test]
fn survivors_name_a_rank_that_ends_in_another_way() {
    for (step, how) in [1, 4, 6].into_iter().flat_map(|step| ["returns", "errs", "panics"].map(|how| (step, how))) {
        let (code, said) = job("shm", "ends", how, step);
        assert!(code.is_some_and(|code| code != 0 && code != 98), "{how} before step {step}: {code:?}\n{said}");
        let names_it = said.contains("foregather: rank 1 exited with code ");
        assert!(names_it || how == "returns", "{how} before step {step}: the launcher blames another rank:\n{said}");
        all_name_it(&said, how, step);
    }
}

#[test]
fn processes_share_what_threads_would() {
    for fabric in fabrics() {
        let (code, said) = job(fabric, "together", "", 0);
        assert_eq!(code, Some(0), "{fabric}: {said}");
        for rank in 0..SIZE {
            assert!(said.contains(&format!("rank {rank}: [{SIZE}], 4950")), "{fabric}: {said}");
        }
    }
}

#[test]
fn survivors_name_a_rank_that_is_killed_over_any_fabric() {
    for (fabric, step) in fabrics().into_iter().flat_map(|fabric| [3, 5, LOCKED].map(|step| (fabric, step))) {
        let (code, said) = job(fabric, "ends", "is killed", step);
        assert_eq!(code, Some(137), "{fabric}, before step {step}: {said}");
        all_name_it(&said, "killed", step);
    }
}

/// Returns the fabrics of this machine.
fn fabrics() -> Vec<&'static str> {
    match Provider::open("tcp", None) {
        Ok(_) => vec!["shm", "ofi:tcp"],
        Err(error) => {
            assert!(env::var("FOREGATHER_REQUIRE_PARTS").is_err(), "{error}");
            eprintln!("skipped: {error}");
            vec!["shm"]
        }
    }
}

/// Writes a line in one call, so that lines of several processes are not interleaved.
fn say(line: &str) {
    use std::io::Write;
    std::io::stdout().write_all(format!("\n{line}\n").as_bytes()).unwrap();
}

fn die() -> ! {
    kill_process(getpid(), Signal::KILL).unwrap();
    unreachable!("it was killed")
}

fn ending(me: &Shared<'_>, how: &str, step: u32) -> Result<u64, Error> {
    let ends = me.rank() == 1;
    if step == LOCKED {
        let value = me.locked::<u64>()?;
        me.barrier()?;
        if ends {
            value.with(|_| die())?;
        }
        while value.get().is_ok() {}
        return value.get();
    }
    program(me, |at| match how {
        _ if !ends || at != step => None,
        "returns" => Some(Ok(77)),
        "errs" => Some(Err(on_purpose())),
        "panics" => panic!("on purpose"),
        _ => die(),
    })
}

/// A rank that ends, or gets the error.
#[test]
#[ignore = "a part of another test"]
fn ends() {
    let (how, step) = (env::var("TEST_HOW").unwrap(), env::var("TEST_STEP").unwrap().parse().unwrap());
    let rank = env::var("FOREGATHER_RANK").unwrap();
    let end = shared(99, |me| ending(me, &how, step));
    match end {
        Ok(results) => say(&format!("rank {rank} ended well: {results:?}")),
        Err(error) => {
            say(&format!("rank {rank} ended: {error}"));
            exit(1);
        }
    }
}

#[test]
fn processes_give_up_as_threads_do() {
    let (code, said) = job("shm", "late", "", 0);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("waits 0: `sum`: rank 0 timed out after "), "{said}");
    assert!(said.contains("waits 1: rank 0 has failed"), "{said}");
}

/// Rank 1 arrives after rank 0 has given up.
#[test]
#[ignore = "a part of another test"]
fn late() {
    let end = shared(99, |me| {
        if me.rank() == 1 {
            std::thread::sleep(Duration::from_millis(400));
        }
        let limit = Duration::from_millis(if me.rank() == 0 { 50 } else { 20_000 });
        let end = (0..2).try_for_each(|_| me.sum_timeout(1_u32, limit).map(drop));
        say(&format!("waits {}: {}", me.rank(), end.as_ref().unwrap_err()));
        end
    });
    exit(i32::from(end.is_err()));
}

/// All ranks succeed: the launcher's size is used, and each rank returns one result.
#[test]
#[ignore = "a part of another test"]
fn together() {
    let sums = shared(99, |me| {
        let (array, value) = (me.array::<u32>(100)?, me.locked::<[u64; 2]>()?);
        for at in me.share(100) {
            array.set(at, at as u32);
        }
        value.with(|value| value[1] += 1)?;
        me.barrier()?;
        let mut all = [0; 100];
        array.read(0, &mut all);
        Ok((me.rank(), value.get()?[1], all.iter().sum::<u32>()))
    });
    let (rank, size, sum) = sums.unwrap()[0];
    say(&format!("rank {rank}: [{size}], {sum}"));
    // Again, with a memory of its own, after a job with messages between the two.
    assert_eq!(foregather::job(2, |me| me.sum(1)).unwrap(), [SIZE]);
    let again = shared(2, |me| {
        let array = me.array::<u64>(1)?;
        Ok((me.size(), array.get(0)))
    });
    assert_eq!(again.unwrap(), [(SIZE, 0)]);
}

/// `foregather run` for these programs.
#[test]
#[ignore = "a part of another test"]
fn launcher() {
    std::thread::spawn(|| {
        std::thread::sleep(LONG);
        eprintln!("the job has not come to its end within {LONG:?}");
        // Its ranks are killed with this process.
        exit(98);
    });
    let program = part(&env::var("TEST_PART").unwrap()).into_iter().map(Into::into).collect();
    let plan = SpawnPlan { size: SIZE, program, ..SpawnPlan::default() };
    exit(i32::from(spawn::run(&plan).unwrap()));
}
