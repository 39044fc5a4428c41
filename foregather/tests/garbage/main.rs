//! Garbage in shared memory: another process that has the descriptor of a queue or barrier may store anything
//! there. Each call must then return within its timeout, with a result or an error. It must not panic, and
//! views must lie in the ring.
//!
//! `FOREGATHER_MUTATIONS` is the number of mutations of each test, and `FOREGATHER_SEED` repeats a run. The
//! normal run is a sample; the periodic run uses `FOREGATHER_MUTATIONS=1000000`.
mod mutate;
mod subjects;

use foregather_machine::SplitMix;
use mutate::Garbage;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use subjects::{Meeting, Queue, Subject};

/// Far beyond the timeout of any call here, even under background load.
const HANG: Duration = Duration::from_secs(20);
/// How many mutations a segment gets before a new one is created.
const LIFE: u64 = 6;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Ends the process and prints the seed if a call does not return.
struct Watchdog {
    /// The running call, counted from 1; 0 between calls.
    calls: AtomicU64,
    over: AtomicBool,
}

impl Watchdog {
    fn watch(&self, what: &str) {
        let (mut seen, mut since) = (0, Instant::now());
        while !self.over.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            let now = self.calls.load(Relaxed);
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            if since.elapsed() > HANG {
                eprintln!("{what}: a call with a time limit has not returned for {HANG:?}");
                std::process::abort();
            }
        }
    }
}

/// Stops the watchdog, even after a panic.
struct Released<'w>(&'w Watchdog);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Relaxed);
    }
}

/// Mutates segments of new subjects until there were enough mutations; prints statistics of the calls.
fn run<S: Subject>(name: &str, beside: bool) {
    let seed = number("FOREGATHER_SEED").unwrap_or(u64::from(std::process::id()));
    let mutations = number("FOREGATHER_MUTATIONS").unwrap_or(3_000);
    let watchdog = Watchdog { calls: AtomicU64::new(0), over: AtomicBool::new(false) };
    let (mut random, mut done, mut ends) = (SplitMix(seed), 0, [0_u64; 2]);
    println!("{name}: seed {seed}, {mutations} mutations");
    std::thread::scope(|threads| {
        threads.spawn(|| watchdog.watch(name));
        let _released = Released(&watchdog);
        while done < mutations {
            let mut subject = S::new(&mut random);
            let mut garbage = Garbage::over(subject.descriptor(), subject.ring(), random.below(u64::MAX));
            for _ in 0..random.below(30) {
                subject.call(&mut random).ok();
            }
            let stop = AtomicBool::new(false);
            let came = std::thread::scope(|threads| {
                let mut other = beside.then(|| Garbage::over(subject.descriptor(), subject.ring(), random.below(u64::MAX)));
                let stop = &stop;
                let other = other.take().map(|mut other| {
                    threads.spawn(move || (0..LIFE).take_while(|_| !stop.load(Relaxed)).map(|_| other.mutate()).count() as u64)
                });
                for _ in 0..if beside { 3 * LIFE } else { LIFE } {
                    if !beside {
                        garbage.mutate();
                        done += 1;
                    }
                    for _ in 0..1 + random.below(3) {
                        watchdog.calls.fetch_add(1, Relaxed);
                        let end = subject.call(&mut random);
                        ends[usize::from(end.is_err())] += 1;
                    }
                }
                stop.store(true, Relaxed);
                other.map_or(0, |other| other.join().unwrap())
            });
            done += came;
            watchdog.calls.fetch_add(1, Relaxed);
        }
    });
    println!("{name}: {done} mutations, {} calls succeeded, {} ended with an error", ends[0], ends[1]);
    assert!(ends[1] > 0, "no call has noticed anything");
}

#[test]
fn a_queue_with_garbage_in_it_ends_with_errors() {
    run::<Queue>("a queue", false);
}

#[test]
fn a_queue_into_which_another_thread_writes_garbage_ends_with_errors() {
    run::<Queue>("a queue beside garbage", true);
}

#[test]
fn a_barrier_with_garbage_in_it_ends_with_errors() {
    run::<Meeting>("a barrier", false);
}

#[test]
fn a_barrier_into_which_another_thread_writes_garbage_ends_with_errors() {
    run::<Meeting>("a barrier beside garbage", true);
}
