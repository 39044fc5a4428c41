//! The programs of these tests' processes: ignored tests of this executable, which starts itself.
use foregather::engine::Error;
use foregather::processes::launch::spawn::{self, SpawnPlan};
use foregather::processes::launch::{JobTrace, TraceTotals};
use foregather::{Communicator, job};
use rustix::process::{Signal, getpid, kill_process};
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, abort, exit};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const LARGE: usize = 8 << 20;

/// Returns a command line for this executable.
pub(crate) fn program(name: &str) -> Vec<String> {
    let name = format!("programs::{name}");
    let this = env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&this, "--exact", &name, "--ignored", "--nocapture", "--test-threads=1", "-q"].map(str::to_owned).to_vec()
}

/// Writes a line in one call, so that lines of several processes are not interleaved.
fn say(line: &str) {
    use std::io::Write;
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// `foregather run`, with the number of ranks in a variable.
#[test]
#[ignore = "a program of another test"]
fn launcher() {
    std::thread::spawn(|| {
        std::thread::sleep(crate::LONG);
        eprintln!("the job has hung");
        // Its ranks are killed with this process.
        exit(98);
    });
    let size = env::var("TEST_SIZE").unwrap().parse().unwrap();
    let program = program("rank").into_iter().map(Into::into).collect();
    let record = env::var_os("TEST_RECORD").map(|path| JobTrace::new(path.as_ref(), size).unwrap());
    let path = record.as_ref().map(|trace| trace.path().to_owned());
    let code = spawn::run(&SpawnPlan { size, program, record: path, ..SpawnPlan::default() }).map_or(99, i32::from);
    match record.as_ref().map(JobTrace::join) {
        None => {}
        Some(Ok(TraceTotals { messages, bytes, .. })) => say(&format!("recorded {messages} messages of {bytes} bytes")),
        Some(Err(error)) => say(&format!("no record: {error}")),
    }
    drop(record);
    exit(code);
}

/// A process that a rank starts.
#[test]
#[ignore = "a program of another test"]
fn child() {
    say(&format!("a child is rank {:?}", job(1, |me| Ok((me.rank(), me.size())))));
    exit(0);
}

/// One rank; a variable says what it does.
#[test]
#[ignore = "a program of another test"]
fn rank() {
    let end = match &env::var("TEST_CASE").unwrap()[..] {
        "ring" => ring(),
        "twice" => ring().and_then(|()| ring()),
        "nested" => nested(),
        "no rank" => Ok(()),
        "alone" => alone(),
        "children" => children(),
        "circle" => circle(),
        "early exit" => early_exit(),
        "dies afterwards" => dies_afterwards(),
        "fails then works" => fails_then_works(),
        case if case.starts_with("culprit ") => culprit(case),
        case => fails(case),
    };
    if let Err(error) = &end {
        say(&format!("the job: {error}"));
    }
    exit(i32::from(end.is_err()));
}

fn neighbours(me: &Communicator) -> (u32, u32) {
    ((me.rank() + 1) % me.size(), (me.rank() + me.size() - 1) % me.size())
}

/// All verbs, and more ranks than the program asks for.
fn ring() -> Result<(), Error> {
    let results = job(1, |me| {
        let ((next, before), mut from) = (neighbours(me), [0_u64]);
        me.send(next, &[u64::from(me.rank())])?;
        me.receive(before, &mut from)?;
        me.send(next, &vec![from[0]; 100_000])?;
        let many: Vec<u64> = me.receive_vec(before)?;
        assert_eq!(many, vec![(u64::from(before) + u64::from(me.size()) - 1) % u64::from(me.size()); 100_000]);
        let mut data = [me.rank(); 3];
        me.broadcast(1, &mut data)?;
        me.barrier()?;
        Ok((me.rank(), me.size(), from[0], data[2], me.sum(1_u32)?))
    })?;
    say(&format!("ring {results:?}"));
    Ok(())
}

fn nested() -> Result<(), Error> {
    job(1, |me| {
        say(&format!("within: {:?}", job(1, |me| me.barrier())));
        let beside = std::thread::scope(|threads| threads.spawn(|| job(1, |me| me.barrier())).join());
        say(&format!("beside: {:?}", beside.expect("it does not panic")));
        me.barrier()
    })
    .map(drop)
}

/// A launcher's variables that must not be mistaken for a launcher.
fn alone() -> Result<(), Error> {
    let results = job(2, |me| me.sum(me.size()))?;
    say(&format!("alone {results:?}"));
    Ok(())
}

fn children() -> Result<(), Error> {
    job(1, |me| {
        if me.rank() == 1 {
            let words = program("child");
            assert!(Command::new(&words[0]).args(&words[1..]).status().is_ok_and(|status| status.success()));
        }
        me.barrier()
    })
    .map(drop)
}

/// Each reports what it has received before any of them exits.
fn circle() -> Result<(), Error> {
    job(1, |me| {
        let end = me.receive(neighbours(me).1, &mut [0_u8]).map(drop);
        std::thread::sleep(Duration::from_millis(100));
        end
    })
    .map(drop)
}

/// Ranks whose processes exit at different times, after the job is over.
fn early_exit() -> Result<(), Error> {
    let rank = job(1, |me| Ok(me.rank()))?[0];
    std::thread::sleep(Duration::from_millis(u64::from(rank) * 400));
    say(&format!("rank {rank} has done more"));
    Ok(())
}

/// An error of a body is not a loss: the next job works.
fn fails_then_works() -> Result<(), Error> {
    let end = job(1, |me| if me.rank() == 1 { me.send(9, &[0_u8]) } else { me.barrier() });
    say(&format!("first: {}", end.unwrap_err()));
    ring()
}

/// Rank 1 fails in the way and at the point that the case names; the others report the errors they get.
fn fails(case: &str) -> Result<(), Error> {
    let body = |me: &Communicator| {
        let end = body(case, me);
        say(&format!("body {}: {}", me.rank(), end.as_ref().err().map_or("done".to_owned(), Error::to_string)));
        end
    };
    if case == "panics" {
        let end = catch_unwind(AssertUnwindSafe(|| job(1, body)));
        let Ok(end) = end else {
            say("the panic goes on");
            exit(5);
        };
        return end.map(drop);
    }
    job(1, body).map(drop)
}

/// One rank fails, and is the last to exit, like a program that cleans up.
fn culprit(case: &str) -> Result<(), Error> {
    let culprit: u32 = env::var("TEST_CULPRIT").unwrap().parse().unwrap();
    let mine = AtomicU32::new(u32::MAX);
    let end = job(1, |me| {
        mine.store(me.rank(), Relaxed);
        me.barrier()?;
        match case {
            _ if me.rank() != culprit => {}
            "culprit panics" => panic!("on purpose"),
            "culprit errs" => return Err(Error::other("on purpose")),
            "culprit exits" => exit(7),
            "culprit aborts" => abort(),
            _ => {
                kill_process(getpid(), Signal::KILL).unwrap();
                return Ok(());
            }
        }
        me.barrier()
    });
    if mine.load(Relaxed) == culprit {
        std::thread::sleep(Duration::from_millis(300));
        exit(9);
    }
    end.map(drop)
}

/// Two jobs succeed, and then a process dies without having left.
fn dies_afterwards() -> Result<(), Error> {
    job(1, Communicator::barrier)?;
    if job(1, |me| Ok(me.rank()))? == [1] {
        abort();
    }
    Ok(())
}

/// Rank 1 requests a long message again and again until it has arrived.
fn receives_late(me: &Communicator) -> Result<(), Error> {
    if me.rank() == 0 {
        std::thread::sleep(Duration::from_millis(200));
        me.send(1, &vec![5_u8; LARGE])?;
    } else {
        let (mut into, mut polls) = (vec![0_u8; LARGE], 0);
        while let Err(error) = me.receive_timeout(0, &mut into, Duration::from_millis(5)) {
            assert!(error.is_timed_out(), "{error}");
            polls += 1;
        }
        assert!(into == vec![5; LARGE] && polls > 0);
        say("received after a timeout");
    }
    me.barrier_timeout(Duration::from_secs(30))
}

fn body(case: &str, me: &Communicator) -> Result<(), Error> {
    let (next, before) = neighbours(me);
    let victim = me.rank() == 1;
    if victim && case.contains("dies in") {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            abort();
        });
    }
    match case {
        "errs" if victim => return me.send(9, &[0_u8]),
        "returns" if victim => return Ok(()),
        "panics" if victim => panic!("on purpose"),
        "dies first" if victim => abort(),
        "dies in send" if victim => return me.send(next, &vec![0; LARGE]),
        "dies in receive" if victim => return me.receive(next, &mut [0_u8]).map(drop),
        "dies in barrier" if victim => return me.barrier(),
        "receives late" => return receives_late(me),
        "arrives late" => {
            if me.rank() == 2 {
                std::thread::sleep(Duration::from_millis(300));
            }
            // Rank 2 may still complete the first call, because the others have sent what it needs.
            return (0..2).try_for_each(|_| me.sum_timeout(1_u32, Duration::from_millis(50)).map(drop));
        }
        "dies in sum" if victim => return me.sum(1_u32).map(drop),
        // Its receiver is computing, and so are the ranks for which that waits.
        "dies in send" | "dies in barrier" | "dies in sum" => std::thread::sleep(Duration::from_millis(400)),
        _ => {}
    }
    match case {
        "dies in sum" => drop(me.sum(1_u32)?),
        // Rank 0 sends it a message that it does not receive, and rank 2 expects one from it.
        _ if next == 1 => me.send(next, &vec![0; LARGE])?,
        _ => drop(me.receive_vec::<u8>(before)?),
    }
    me.barrier()
}
