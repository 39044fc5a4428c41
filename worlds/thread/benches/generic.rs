//! Compares generic with hand-written barriers: the cost of writing barriers once, over traits, for every
//! world.
//!
//! `cargo bench -p foregather-thread --bench generic` prints a table; with `-- --check` it fails if a median
//! ratio is above [`LIMIT`]. Each pair of batches runs on the same two pinned threads, the order alternates,
//! and member 0 holds the watch. By hand means: the same protocol (a value and a sleeper's bit in one word,
//! the same lines, the same account of the central barrier's waits) by an author with knowledge of the
//! waiting policy and needs neither poison nor deadline. `bare` leaves out account and sleepers too: what a
//! pure spin barrier would be if no thread ever had to sleep. It is for information.
//!
//! Two virtual processors may be two cores or two threads of one core, as the host likes from moment to
//! moment: a line then moves in 200 or in 30 ns, and every nanosecond between two barriers shows five times
//! as much.
#![forbid(unsafe_code)]

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use foregather_barrier::{Algorithm, BarrierMember, CachePadded, Group, SignalCost, SignalMatrix, Signaller, butterfly, rds};
use foregather_host::{affinity, clock, futex, futex::Scope, pause::pause};
use foregather_machine::{Error, Nanos, block_on};
use foregather_thread::Thread;
use foregather_wait::{Account, Outcome, Policy, Waited};
use std::process::ExitCode;

/// The highest median ratio that passes.
const LIMIT: f64 = 1.05;
/// Pairs of batches and barriers in each, for policies that spin and for policies that sleep.
const SPINNING: (usize, u32) = (201, 2_000);
const SLEEPING: (usize, u32) = (51, 100);

/// Bit 0 of a word: a thread sleeps.
const ARMED: u32 = 1;
/// One step of the value above it and the poison bit.
const ONE: u32 = 4;

/// Waits until the word's value is no longer `before`, spinning or sleeping at once, and tells how it went.
#[inline(always)]
fn wait_by_hand<const SLEEP: bool>(word: &AtomicU32, before: u32, timed: bool) -> Waited {
    let unchanged = |now: u32| now & !(ONE - 1) == before;
    let mut waited = Waited::first_look(!SLEEP);
    if !unchanged(word.load(Acquire)) {
        return waited;
    }
    let began = if timed || SLEEP { clock::now() } else { Nanos::ZERO };
    while unchanged(word.load(Acquire)) {
        if SLEEP {
            let armed = word.fetch_or(ARMED, AcqRel) | ARMED;
            if unchanged(armed) {
                futex::wait(word, armed, None, Scope::Private);
            }
        } else {
            pause();
        }
    }
    waited.outcome = if SLEEP { Outcome::Parked } else { Outcome::Spun };
    if timed || SLEEP {
        waited.waited = clock::now() - began;
    }
    waited
}

/// After a change that found `before`: wakes the threads that sleep.
#[inline(always)]
fn wake_by_hand(word: &AtomicU32, before: u32) {
    if before & ARMED != 0 {
        word.fetch_and(!ARMED, AcqRel);
        futex::wake_all(word, Scope::Private);
    }
}

/// The central barrier of two: epoch and counter on one line, each member's arrival on its own.
#[derive(Default)]
struct Central {
    near: CachePadded<[AtomicU32; 2]>,
    arrived: [CachePadded<AtomicU32>; 2],
}

impl Central {
    #[inline(always)]
    fn wait<const SLEEP: bool>(&self, rank: u32, episode: &mut u32, account: &Account) {
        let ([epoch, count], next) = (&*self.near, episode.wrapping_add(ONE));
        self.arrived[rank as usize].store(next, Release);
        if count.fetch_add(ONE, AcqRel) == ONE {
            count.store(0, Release);
            wake_by_hand(epoch, epoch.swap(next, AcqRel));
            account.last();
        } else {
            account.waited(wait_by_hand::<SLEEP>(epoch, *episode, account.sample()));
        }
        *episode = next;
    }

    #[inline(always)]
    fn wait_bare(&self, episode: &mut u32) {
        let ([epoch, count], next) = (&*self.near, episode.wrapping_add(ONE));
        if count.fetch_add(ONE, AcqRel) == ONE {
            count.store(0, Release);
            epoch.store(next, Release);
        } else {
            wait_by_hand::<false>(epoch, *episode, false);
        }
        *episode = next;
    }
}

/// The butterfly of two: each member signals the other's word.
#[derive(Default)]
struct Butterfly([CachePadded<AtomicU32>; 2]);

impl Butterfly {
    #[inline(always)]
    fn wait<const SLEEP: bool>(&self, rank: u32, taken: &mut u32) {
        let peer = &*self.0[(rank ^ 1) as usize];
        wake_by_hand(peer, peer.fetch_add(ONE, AcqRel));
        wait_by_hand::<SLEEP>(&self.0[rank as usize], *taken, false);
        *taken = taken.wrapping_add(ONE);
    }
}

/// RDS of two without waits: gather at member 0, and release.
#[derive(Default)]
struct Rds([CachePadded<AtomicU32>; 2]);

impl Rds {
    #[inline(always)]
    fn wait<const SLEEP: bool>(&self, rank: u32, taken: &mut u32) {
        let peer = &*self.0[(rank ^ 1) as usize];
        if rank == 1 {
            wake_by_hand(peer, peer.fetch_add(ONE, AcqRel));
        }
        wait_by_hand::<SLEEP>(&self.0[rank as usize], *taken, false);
        if rank == 0 {
            wake_by_hand(peer, peer.fetch_add(ONE, AcqRel));
        }
        *taken = taken.wrapping_add(ONE);
    }
}

// Each batch is a function of its own, so that a profiler and a disassembler find it.

#[inline(never)]
fn central_generic(member: &mut BarrierMember<Thread>, barriers: u32) -> Result<(), Error> {
    (0..barriers).try_for_each(|_| block_on(member.wait()))
}

#[inline(never)]
fn central_by_hand<const SLEEP: bool>(central: &Central, rank: u32, episode: &mut u32, account: &Account, barriers: u32) {
    (0..barriers).for_each(|_| central.wait::<SLEEP>(rank, episode, account));
}

#[inline(never)]
fn central_bare(central: &Central, episode: &mut u32, barriers: u32) {
    (0..barriers).for_each(|_| central.wait_bare(episode));
}

#[inline(never)]
fn butterfly_generic(end: &Signaller<Thread>, barriers: u32) -> Result<(), Error> {
    (0..barriers).try_for_each(|_| block_on(butterfly(end)))
}

#[inline(never)]
fn butterfly_by_hand<const SLEEP: bool>(words: &Butterfly, rank: u32, taken: &mut u32, barriers: u32) {
    (0..barriers).for_each(|_| words.wait::<SLEEP>(rank, taken));
}

#[inline(never)]
fn rds_generic(end: &Signaller<Thread>, barriers: u32) -> Result<(), Error> {
    (0..barriers).try_for_each(|_| block_on(rds(end, SignalCost::ZERO)))
}

#[inline(never)]
fn rds_by_hand<const SLEEP: bool>(words: &Rds, rank: u32, taken: &mut u32, barriers: u32) {
    (0..barriers).for_each(|_| words.wait::<SLEEP>(rank, taken));
}

/// Cycles of each pair of batches, generic and by hand. Both members call this; a batch ends in a barrier, so
/// the next begins for both at once.
fn pairs(
    (pairs, barriers): (usize, u32),
    mut generic: impl FnMut(u32) -> Result<(), Error>,
    mut by_hand: impl FnMut(u32),
) -> Result<Vec<(u64, u64)>, Error> {
    let mut one_pair = |generic_first: bool| {
        let began = clock::cycles();
        if generic_first {
            generic(barriers)?
        } else {
            by_hand(barriers)
        }
        let middle = clock::cycles();
        if generic_first {
            by_hand(barriers)
        } else {
            generic(barriers)?
        }
        let (first, second) = (middle - began, clock::cycles() - middle);
        Ok(if generic_first { (first, second) } else { (second, first) })
    };
    one_pair(true)?;
    (0..pairs).map(|pair| one_pair(pair % 2 == 0)).collect()
}

/// What member 0 measured.
type Measured = Result<Vec<(u64, u64)>, Error>;

/// Runs both members' part, each pinned to a processor of its own.
fn on_two(cpus: [u32; 2], part: impl Fn(Thread, u32) -> Measured + Sync) -> Measured {
    let all = foregather_thread::run(2, |rank| Some(cpus[rank as usize]), part)?;
    all.into_iter().collect::<Result<Vec<_>, _>>().map(|mut all| all.swap_remove(0))
}

fn central<const SLEEP: bool>(cpus: [u32; 2], size: (usize, u32), policy: Policy) -> Measured {
    let (group, by_hand) = (Group::new(Algorithm::Central, 2)?, Central::default());
    on_two(cpus, |cpu, rank| {
        let (mut member, mut episode, account) = (group.member(cpu, rank, policy)?, 0, Account::default());
        let hand = |barriers| central_by_hand::<SLEEP>(&by_hand, rank, &mut episode, &account, barriers);
        pairs(size, |barriers| central_generic(&mut member, barriers), hand)
    })
}

fn central_against_bare(cpus: [u32; 2]) -> Measured {
    let (group, by_hand) = (Group::new(Algorithm::Central, 2)?, Central::default());
    on_two(cpus, |cpu, rank| {
        let (mut member, mut episode) = (group.member(cpu, rank, Policy::Spin)?, 0);
        let hand = |barriers| central_bare(&by_hand, &mut episode, barriers);
        pairs(SPINNING, |barriers| central_generic(&mut member, barriers), hand)
    })
}

fn butterflies<const SLEEP: bool>(cpus: [u32; 2], size: (usize, u32), policy: Policy) -> Measured {
    let (flags, by_hand) = (SignalMatrix::<Thread>::new(2, 1), Butterfly::default());
    on_two(cpus, |cpu, rank| {
        let (end, mut taken) = (flags.endpoint(cpu, rank, policy), 0);
        let hand = |barriers| butterfly_by_hand::<SLEEP>(&by_hand, rank, &mut taken, barriers);
        pairs(size, |barriers| butterfly_generic(&end, barriers), hand)
    })
}

fn rds_of_two<const SLEEP: bool>(cpus: [u32; 2], size: (usize, u32), policy: Policy) -> Measured {
    let (flags, by_hand) = (SignalMatrix::<Thread>::new(2, Algorithm::Rds { hop: SignalCost::ZERO }.slots(2)), Rds::default());
    on_two(cpus, |cpu, rank| {
        let (end, mut taken) = (flags.endpoint(cpu, rank, policy), 0);
        let hand = |barriers| rds_by_hand::<SLEEP>(&by_hand, rank, &mut taken, barriers);
        pairs(size, |barriers| rds_generic(&end, barriers), hand)
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints one row; its median ratio.
fn row(name: &str, barriers: u32, measured: &[(u64, u64)]) -> f64 {
    let per_barrier = |cycles: u64| clock::cycles_to_nanos(cycles).0 as f64 / f64::from(barriers);
    let generic = median(measured.iter().map(|&(generic, _)| per_barrier(generic)).collect());
    let by_hand = median(measured.iter().map(|&(_, by_hand)| per_barrier(by_hand)).collect());
    let ratio = median(measured.iter().map(|&(generic, by_hand)| generic as f64 / by_hand as f64).collect());
    println!("{name:<34} {generic:>12.1} {by_hand:>12.1} {ratio:>8.3}   {} x {barriers}", measured.len());
    ratio
}

fn all(cpus: [u32; 2]) -> Result<f64, Error> {
    println!("{:<34} {:>12} {:>12} {:>8}   batches", "two pinned threads, per barrier", "generic ns", "by hand ns", "ratio");
    let checked = [
        row("central, spinning", SPINNING.1, &central::<false>(cpus, SPINNING, Policy::Spin)?),
        row("butterfly, spinning", SPINNING.1, &butterflies::<false>(cpus, SPINNING, Policy::Spin)?),
        row("RDS, spinning", SPINNING.1, &rds_of_two::<false>(cpus, SPINNING, Policy::Spin)?),
        row("central, sleeping", SLEEPING.1, &central::<true>(cpus, SLEEPING, Policy::Block)?),
        row("butterfly, sleeping", SLEEPING.1, &butterflies::<true>(cpus, SLEEPING, Policy::Block)?),
        row("RDS, sleeping", SLEEPING.1, &rds_of_two::<true>(cpus, SLEEPING, Policy::Block)?),
    ];
    row("central, spinning, against bare", SPINNING.1, &central_against_bare(cpus)?);
    Ok(checked.into_iter().fold(0.0, f64::max))
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let [a, b, ..] = affinity::allowed()[..] else {
        eprintln!("generic: this needs two processors; allow more (see `nproc`, `taskset -p $$`)");
        return ExitCode::from(3);
    };
    match all([a, b]) {
        Ok(worst) if check && worst > LIMIT => {
            eprintln!("generic: a median ratio of {worst:.3} is above {LIMIT}");
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generic: {error}");
            ExitCode::FAILURE
        }
    }
}
