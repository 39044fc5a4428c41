//! The programs of these tests' processes: ignored tests of this executable, which starts itself.
use foregather_dsm::Access;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread, lanes, run};
use foregather_host::interrupt;
use foregather_launch::spawn::{self, SpawnPlan};
use foregather_launch::{Job, Lanes};
use foregather_machine::{Error, Fabric, Rank, Words};
use std::env;
use std::process::exit;
use std::time::Duration;

/// Ranks of a job, and threads of each.
pub(crate) const SIZE: u32 = 4;
const THREADS: u32 = 2;
const WORDS: usize = 24;
/// The time limit of a job: a longer one is killed, and has failed.
const LONG: Duration = Duration::from_secs(60);

/// What all ranks are doing when one of them is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Loads and stores: every rank owns some minipages, and is in a fault most of the time.
    Faults,
    /// The lost rank holds a lock that the others wait for.
    Holds,
    /// Locks are passed around.
    Locks,
    /// The others wait for the lost rank at a barrier.
    Barrier,
    /// Barriers, pushes and prefetches.
    Hints,
    /// One thread of each rank waits at a barrier, the other one for it: no other request is under way.
    Beside,
}

impl State {
    pub(crate) const ALL: [Self; 6] = [Self::Faults, Self::Holds, Self::Locks, Self::Barrier, Self::Hints, Self::Beside];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| format!("{state:?}") == name)
    }

    /// Repeats the state's call until it fails.
    fn program<F: Fabric>(self, thread: &Thread<'_, F>, words: &Array<u64>, victim: Rank) -> Result<(), Error> {
        let (number, lost) = (thread.number() as usize, thread.rank() == victim);
        for turn in number.. {
            let at = turn * 7 % WORDS;
            match self {
                Self::Faults => _ = words.fetch_add(at, 1),
                Self::Holds if lost => thread.locked(1, sleep)?,
                Self::Holds => thread.locked(1, || ())?,
                Self::Locks => thread.locked(at as u32, || words.set(at, words.get(at) + 1))?,
                Self::Barrier | Self::Beside if lost => sleep(),
                Self::Beside if number.is_multiple_of(2) => {
                    words.get(at);
                    thread.barrier()?;
                }
                Self::Barrier | Self::Beside => thread.barrier()?,
                Self::Hints => {
                    words.set(number, turn as u64);
                    thread.push(words, number..number + 1)?;
                    thread.prefetch(words, at..at + 1, Access::Read)?;
                    thread.barrier()?;
                }
            }
        }
        Ok(())
    }
}

/// Sleeps until another process kills this one.
fn sleep() {
    loop {
        std::thread::sleep(LONG);
    }
}

/// Returns the command line of a rank's program in these tests, for this executable.
pub(crate) fn program(name: &str) -> Vec<String> {
    let name = format!("programs::{name}");
    let this = env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&this, "--exact", &name, "--ignored", "--nocapture", "--test-threads=1", "-q"].map(str::to_owned).to_vec()
}

/// Writes a line in one call, so that lines of several processes are not interleaved.
fn say(line: &str) {
    use std::io::Write;
    std::io::stdout().write_all(format!("\n{line}\n").as_bytes()).unwrap();
}

fn in_that_state<F>(all: Vec<F>, state: State, victim: Rank) -> Result<(), Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
{
    let settings = Settings { bytes: 1 << 16, threads: THREADS, ..Settings::default() };
    let layout = |layout: &mut SharedAllocator| layout.array(WORDS, 1);
    let served = run(all, settings, layout, |thread, words: &Array<u64>| {
        thread.barrier()?;
        if thread.number() % THREADS == 0 {
            say(&format!("ready {} {}", thread.rank(), std::process::id()));
        }
        state.program(thread, words, victim)
    });
    served.map(|served| _ = served.leave())
}

/// Stays in one state until a rank is lost, and names it.
#[test]
#[ignore = "a program of another test"]
fn state() {
    let state = State::parse(&env::var("TEST_STATE").unwrap()).unwrap();
    let victim = env::var("TEST_VICTIM").unwrap().parse().unwrap();
    let job = Job::join().unwrap();
    let end = job.lanes(lanes(THREADS)).and_then(|lanes| match lanes {
        Lanes::Shm(lanes) => in_that_state(lanes, state, victim),
        Lanes::Ofi(lanes) => in_that_state(lanes, state, victim),
        Lanes::Mpi(lanes) => in_that_state(lanes, state, victim),
    });
    say(&format!("rank {} ended: {}", job.rank(), end.unwrap_err()));
    drop(job);
    exit(1);
}

/// `foregather run` for these programs.
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
    let program = program("state").into_iter().map(Into::into).collect();
    let plan = SpawnPlan { size: SIZE, program, ..SpawnPlan::default() };
    exit(i32::from(spawn::run(&plan).unwrap()));
}
