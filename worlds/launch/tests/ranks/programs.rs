//! The processes of these tests: ignored tests of this executable, which start it again.
use foregather_host::{clock, interrupt};
use foregather_launch::spawn::{self, Host, SpawnPlan};
use foregather_launch::{Job, Lanes};
use foregather_machine::{Address, Error, Fabric, Nanos, Park, WaitContext};
use rustix::process::{Signal, getpid, kill_process};
use std::env;
use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::time::Duration;

/// Waits like a fabric, until the wait fails; prints the error, and exits with 1.
fn wait_in_vain(job: Job) -> ! {
    let why = WaitContext::new("a test", job.rank()).since(clock::now());
    loop {
        if let Err(error) = job.failure_detector().check(&why) {
            println!("rank {} lost {:?}", job.rank(), error.lost_rank());
            drop(job);
            exit(1);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "a program of another test"]
fn greets() {
    let end = Job::join().and_then(|job| {
        let addresses = job.exchange(&[job.rank() as u8 + 1])?;
        let sum: u32 = addresses.iter().map(|address| u32::from(address[0])).sum();
        let (rank, size, local) = (job.rank(), job.size(), job.local_ranks().len());
        println!("rank {rank} of {size}, {local} here: sum {sum}");
        job.leave()
    });
    if let Err(error) = end {
        println!("no rank: {error}");
        exit(1);
    }
}

/// Becomes [`greets`] with only the standard streams open.
#[test]
#[ignore = "a program of another test"]
fn closes_descriptors() {
    // SAFETY: this process goes on with the standard streams alone, until it becomes another program.
    unsafe { libc::close_range(3, u32::MAX, 0) };
    let words = crate::program("greets");
    panic!("{}", Command::new(&words[0]).args(&words[1..]).exec());
}

/// Starts [`greets`] as a child, before it greets itself.
#[test]
#[ignore = "a program of another test"]
fn has_a_rank_within() {
    let job = Job::join().unwrap();
    let (wrapper, words) = (env::var("TEST_WRAPPER").unwrap(), crate::program("greets").join(" "));
    assert!(Command::new("sh").args(["-c", &format!("{wrapper} {words}")]).status().unwrap().success());
    let sum: u32 = job.exchange(&[job.rank() as u8 + 1]).unwrap().iter().map(|address| u32::from(address[0])).sum();
    println!("rank {} of {}, {} here: sum {sum}", job.rank(), job.size(), job.local_ranks().len());
    job.leave().unwrap();
}

/// Bytes of a core dump that takes longer to write than the peer timeout.
pub(crate) const LARGE: usize = 1 << 30;

/// Rank 1 crashes with a large memory; all others wait for it.
#[test]
#[ignore = "a program of another test"]
fn crashes() {
    let job = Job::join().unwrap();
    if job.rank() != 1 {
        wait_in_vain(job);
    }
    std::mem::forget(std::hint::black_box(vec![7_u8; LARGE]));
    std::process::abort();
}

/// Traces a process or a thread, and does not reap it while the tracer runs; with `TEST_EXIT` it does not let
/// the thread exit either.
#[test]
#[ignore = "a program of another test"]
fn tracer() {
    let process: libc::pid_t = env::var("TEST_TRACED").unwrap().parse().unwrap();
    let options = if env::var("TEST_EXIT").is_ok() { libc::PTRACE_O_TRACEEXIT } else { 0 };
    // SAFETY: the call attaches to a process of the test that started this one; it touches no memory.
    let traces = unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0, options) } == 0;
    println!("{}", if traces { "traces" } else { "may not" });
    std::thread::sleep(Duration::from_secs(1_000));
}

fn start_a_thread() -> std::thread::JoinHandle<()> {
    let thread = std::thread::Builder::new().name("lingers".to_owned());
    thread.spawn(|| std::thread::sleep(Duration::from_secs(1_000))).unwrap()
}

/// A process with a thread of that name.
#[test]
#[ignore = "a program of another test"]
fn has_two_threads() {
    start_a_thread().join().unwrap();
}

/// A rank with a thread of that name, which waits for the others.
#[test]
#[ignore = "a program of another test"]
fn waits_with_two_threads() {
    let job = Job::join().unwrap();
    start_a_thread();
    wait_in_vain(job);
}

/// Waits for another rank with few descriptors, and prints how much CPU time that took.
#[test]
#[ignore = "a program of another test"]
fn has_few_descriptors() {
    let few = rustix::process::Rlimit { current: Some(24), maximum: Some(24) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    std::thread::spawn(|| {
        // By then it has joined itself.
        std::thread::sleep(Duration::from_millis(700));
        let mut taken = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            taken.push(file);
        }
        println!("took {}", taken.len());
        std::thread::sleep(Duration::from_secs(60));
    });
    let end = Job::join().map(|_| ()).unwrap_err();
    println!("no rank: {end}");
    println!("spent {}", foregather_host::usage::process_cpu().0 / 1_000_000);
}

/// One rank is stopped for a while before it sends to the next one.
#[test]
#[ignore = "a program of another test"]
fn stands_still() {
    let end = Job::join().and_then(|job| {
        let lanes = job.lanes(2)?;
        if env::var("TEST_RANK").unwrap() == job.rank().to_string() {
            let pause = format!("kill -STOP $PPID; sleep {}; kill -CONT $PPID", env::var("TEST_PAUSE").unwrap());
            Command::new("sh").args(["-c", &pause]).status().unwrap();
        }
        match lanes {
            Lanes::Shm(lanes) => ring(&lanes),
            Lanes::Ofi(lanes) => ring(&lanes),
            Lanes::Mpi(lanes) => ring(&lanes),
        }?;
        println!("rank {} went on", job.rank());
        job.leave()
    });
    if let Err(error) = end {
        println!("no ring: {error}");
        exit(1);
    }
}

/// Opens its lanes and waits until another rank is lost.
#[test]
#[ignore = "a program of another test"]
fn opens() {
    let job = Job::join().unwrap();
    println!("joined {} {}", job.rank(), std::process::id());
    let lanes = job.lanes(1);
    if let Err(error) = &lanes {
        println!("no lanes: {error}");
        exit(1);
    }
    wait_in_vain(job);
}

/// Rank 1 fails; all others wait for it.
#[test]
#[ignore = "a program of another test"]
fn one_fails() {
    let job = Job::join().unwrap();
    if job.rank() != 1 {
        wait_in_vain(job);
    }
    match &env::var("TEST_END").unwrap()[..] {
        "exit" => exit(7),
        "kill" => kill_process(getpid(), Signal::KILL).unwrap(),
        "stop" => kill_process(getpid(), Signal::STOP).unwrap(),
        "drop" => {
            drop(job);
            exit(9);
        }
        _ => panic!("no such end"),
    }
    // The signal may have reached another thread, and this one continues for a moment.
    std::thread::sleep(Duration::from_secs(60));
    panic!("the signal did nothing");
}

/// Returns the next frame from there, unless a rank is lost.
fn receive<F: Fabric>(lane: &F, from: Address) -> Result<Vec<u8>, Error> {
    let why = WaitContext::new("a frame", lane.rank()).of(from.rank).since(clock::now());
    loop {
        if let Some(bytes) = lane.arrived(None).and_then(|_| lane.peek(from, |_, bytes| bytes.to_vec())) {
            lane.release(from);
            return Ok(bytes);
        }
        lane.cpu().check(lane.bell(), &why)?;
        std::thread::yield_now();
    }
}

/// Sends a frame on every lane to the next rank and takes one from the previous; then rank 1 may fail while
/// the others wait.
fn ring<F: Fabric>(lanes: &[F]) -> Result<(), Error> {
    for lane in lanes {
        let (rank, size, number) = (lane.rank(), lane.size(), lane.here().lane);
        let at = |rank: u32| Address { rank: rank % size, lane: number };
        while !lane.post(at(rank + 1), 5, &[rank as u8, number as u8])? {
            std::thread::yield_now();
        }
        let last = at(rank + size - 1);
        assert_eq!(receive(lane, last)?, [last.rank as u8, number as u8]);
        if env::var("TEST_END").is_ok() {
            if rank == 1 {
                kill_process(getpid(), Signal::STOP).unwrap();
                std::thread::sleep(Duration::from_secs(60));
            }
            receive(lane, last)?;
        }
    }
    // Every rank's frame has arrived when all have left.
    lanes.iter().for_each(Fabric::leave);
    Ok(())
}

#[test]
#[ignore = "a program of another test"]
fn sends() {
    let end = Job::join().and_then(|job| {
        let fabric = match job.lanes(2)? {
            Lanes::Shm(lanes) => ring(&lanes).map(|()| "shm"),
            Lanes::Ofi(lanes) => ring(&lanes).map(|()| "ofi"),
            Lanes::Mpi(lanes) => ring(&lanes).map(|()| "mpi"),
        }?;
        println!("rank {} sent by {fabric}", job.rank());
        job.leave()
    });
    if let Err(error) = end {
        println!("no ring: lost {:?}: {error}", error.lost_rank());
        exit(1);
    }
}

/// Rank 1 waits on the first lane for the frame that rank 0 has posted there, while rank 0 waits on the
/// second lane for the reply.
fn cross<F: Fabric>(lanes: &[F]) -> Result<(), Error> {
    let at = |rank, lane| Address { rank, lane };
    if lanes[0].rank() == 0 {
        assert!(lanes[0].post(at(1, 0), 5, b"there")?);
        assert_eq!(receive(&lanes[1], at(1, 1))?, b"and back");
    } else {
        assert_eq!(receive(&lanes[0], at(0, 0))?, b"there");
        assert!(lanes[1].post(at(0, 1), 5, b"and back")?);
    }
    lanes.iter().for_each(Fabric::leave);
    Ok(())
}

#[test]
#[ignore = "a program of another test"]
fn crosses() {
    let job = Job::join().unwrap();
    let fabric = match job.lanes(2).unwrap() {
        Lanes::Shm(lanes) => cross(&lanes).map(|()| "shm"),
        Lanes::Ofi(lanes) => cross(&lanes).map(|()| "ofi"),
        Lanes::Mpi(lanes) => cross(&lanes).map(|()| "mpi"),
    };
    println!("rank {} crossed by {}", job.rank(), fabric.unwrap());
    job.leave().unwrap();
}

/// Sends nothing for much longer than the peer timeout.
#[test]
#[ignore = "a program of another test"]
fn computes() {
    let job = Job::join().unwrap();
    let until = clock::now() + Nanos::from_ms(3_000);
    let mut work = 0_u64;
    while clock::now() < until {
        work = work.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    job.exchange(&work.to_le_bytes()[..1]).unwrap();
    println!("rank {} was let be", job.rank());
    job.leave().unwrap();
}

/// The others must wait for rank 0.
#[test]
#[ignore = "a program of another test"]
fn is_late() {
    let job = Job::join().unwrap();
    if job.rank() == 0 {
        std::thread::sleep(Duration::from_millis(1_500));
    }
    job.exchange(&[]).unwrap();
    job.leave().unwrap();
}

/// Leaves a process behind, and fails or waits.
#[test]
#[ignore = "a program of another test"]
fn has_a_child() {
    let job = Job::join().unwrap();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    job.exchange(&[]).unwrap();
    println!("rank {} has a child", job.rank());
    if job.rank() == 1 && env::var("TEST_END").is_ok() {
        exit(3);
    }
    child.wait().unwrap();
}

/// `foregather run`, with the number of ranks and the program in variables.
#[test]
#[ignore = "a program of another test"]
fn launcher() {
    interrupt::install().unwrap();
    if let Ok(path) = env::var("TEST_STDOUT") {
        // Not from the beginning: the harness must be able to print.
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        // SAFETY: nothing in this process owns the descriptor of standard output.
        assert!(unsafe { libc::dup2(file.as_raw_fd(), 1) } == 1);
    }
    let program = env::var_os("TEST_PROGRAM").unwrap().into_vec();
    let program = program.split(|&byte| byte == b'\n').map(|word| OsString::from_vec(word.to_vec())).collect();
    let size = env::var("TEST_SIZE").unwrap().parse().unwrap();
    let hosts = env::var("TEST_HOSTS").map_or(vec![], |text| Host::parse(&text).unwrap());
    let remote_shell = env::var("TEST_RSH").unwrap_or("ip netns exec".to_owned());
    let remote_shell = remote_shell.split_whitespace().map(str::to_owned).collect();
    let plan = SpawnPlan { size, program, fabric: None, hosts, remote_shell, prefix: true, record: None };
    match spawn::run(&plan) {
        Ok(code) => exit(i32::from(code)),
        Err(error) => {
            eprintln!("no job: {error}");
            exit(99);
        }
    }
}
