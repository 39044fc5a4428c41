//! Causes that lie in the program: late members, small regions, locks, and spins without work.
use super::processors::seconds;
use super::sampled::mostly;
use super::{Certainty, NamedCause, WaitCause};
use crate::{Observation, TimeSplit, cures};
use foregather_host::watched::page::{KnownWork, RecordedThread, ThreadActivity};
use foregather_machine::{Nanos, ThreadId};

/// How late members spent the time in which others waited for them.
fn held_up(seen: &Observation) -> TimeSplit {
    let mut sum = TimeSplit::default();
    for account in seen.ledger.threads.values() {
        sum.ran += account.held_up.ran;
        sum.ready += account.held_up.ready;
        sum.device += account.held_up.device;
        sum.asleep += account.held_up.asleep;
    }
    sum
}

/// A part of a time.
fn part(time: Nanos, of: Nanos, whole: Nanos) -> Nanos {
    Nanos((time.0 as f64 * of.0 as f64 / whole.0.max(1) as f64) as u64)
}

fn recorded(seen: &Observation) -> impl Iterator<Item = &RecordedThread> {
    seen.ledger.threads.values().filter_map(|account| account.recorded.as_ref())
}

/// The regions of all threads, the time in which they were open, and the parts that threads executed.
fn regions(seen: &Observation) -> (u64, Nanos, u64) {
    recorded(seen).map(|record| record.counts).fold((0, Nanos::ZERO, 0), |(regions, open, parts), one| {
        (regions + one.regions, open + Nanos(one.region_ns), parts + one.parts)
    })
}

pub(super) fn io(seen: &Observation) -> Option<NamedCause> {
    let (held_up, spent) = (held_up(seen), seen.spent());
    let waits = (spent.late + spent.spun).min(seen.episodes.waited);
    let share = held_up.device.0 as f64 / held_up.total().0.max(1) as f64;
    let (last, often) = seen.episodes.most_delaying()?;
    (share >= 0.3).then(|| NamedCause {
        cause: WaitCause::IoBehindBarrier,
        certainty: if share >= 0.5 { Certainty::Sure } else { Certainty::Likely },
        explains: part(waits, held_up.device, held_up.total()),
        verdict: format!("others wait at a barrier while thread {last} reads, writes or sleeps"),
        evidence: format!(
            "the last member was in a system call for {:.0} % of the waits; thread {last} made {:.0} % of the delay at {} barriers",
            share * 100.0,
            often * 100.0,
            seen.episodes.count
        ),
        remedy: cures::step("move that call out of the region, or overlap it with work"),
    })
}

pub(super) fn convoy(seen: &Observation) -> Option<NamedCause> {
    let (spent, locks) = (seen.spent(), recorded(seen).map(|record| record.counts.locks).sum::<u64>());
    // One wait may be long: the holder may take the mutex again before a thread that it wakes runs.
    (spent.lock > Nanos::ZERO).then(|| NamedCause {
        cause: WaitCause::LockConvoy,
        certainty: Certainty::Sure,
        explains: spent.lock,
        verdict: if locks == 0 {
            "threads spin for a lock that another one holds".to_owned()
        } else {
            format!("threads queue for a mutex; {:.1} of them run at a time", seen.parallelism())
        },
        evidence: match locks {
            0 => format!("samples show {:.1} s of processor time in functions that wait for a lock", seconds(spent.lock)),
            locks => format!("a mutex was found locked {locks} times; threads waited for {:.1} s in all", seconds(spent.lock)),
        },
        remedy: cures::step("hold the lock for less work, or give each thread data of its own"),
    })
}

/// Returns whether the parts of a thread take more processor time than those of its partners. `None` if too
/// few of them are known.
fn has_more_work(seen: &Observation, thread: ThreadId) -> Option<bool> {
    let process = seen.ledger.threads.get(&thread)?.last.process;
    let of_process = recorded(seen).filter(|record| record.process == process);
    let (mut own, mut partners) = (KnownWork::default(), KnownWork::default());
    for record in of_process {
        let work = if record.thread == thread { &mut own } else { &mut partners };
        work.known += record.part_work.known;
        work.known_ns += record.part_work.known_ns;
    }
    let mean = |work: KnownWork| (work.known >= KNOWN).then(|| work.known_ns as f64 / work.known as f64);
    Some(mean(own)? > mean(partners)? * MORE)
}

/// Parts whose processor time is known, at least, before work is compared; and by how much it is more.
const KNOWN: u64 = 20;
const MORE: f64 = 1.05;

pub(super) fn late(seen: &Observation) -> Option<NamedCause> {
    let (held_up, spent) = (held_up(seen), seen.spent());
    let episodes = &seen.episodes;
    let (last, share) = episodes.most_delaying().filter(|_| episodes.count >= 10)?;
    let waits = (spent.late + spent.spun).min(episodes.waited);
    let explains = part(waits, held_up.ran, held_up.total());
    let is_same = share >= (1.5 / f64::from(episodes.members.max(1))).max(0.6);
    // Something else makes a thread late that has no more work.
    if is_same && has_more_work(seen, last) == Some(false) {
        return None;
    }
    let name = seen.ledger.threads.get(&last).and_then(|account| account.facts.as_ref()).map(|facts| facts.name.clone());
    let shorter = seen.per_elapsed(episodes.lead).min(1.0) * 100.0;
    let verdict = if is_same {
        format!("thread {last} ({}) has more work than its partners{}", name.unwrap_or_default(), mostly(seen, Some(last)))
    } else {
        format!("parts of a region take unequal time, and the last thread changes{}", mostly(seen, None))
    };
    Some(NamedCause {
        cause: WaitCause::LateThread,
        certainty: if is_same { Certainty::Sure } else { Certainty::Likely },
        explains,
        verdict,
        evidence: format!(
            "thread {last} made {:.0} % of the delay at {} barriers; with all last threads on time: -{shorter:.0} %",
            share * 100.0,
            episodes.count
        ),
        remedy: cures::step("divide the work more evenly, for example by schedule(dynamic)"),
    })
}

/// A part that is shorter may not pay for a region.
const SHORT: Nanos = Nanos::from_us(20);

pub(super) fn tiny(seen: &Observation) -> Option<NamedCause> {
    let (regions, open, parts) = regions(seen);
    if regions < 1_000 || parts == 0 {
        return None;
    }
    // Waits at barriers within a region are no work.
    let work = recorded(seen).fold(Nanos::ZERO, |sum, record| sum + record.times[ThreadActivity::Part as usize]);
    let (region, part, team) = (Nanos(open.0 / regions), Nanos(work.0 / parts), parts as f64 / regions as f64);
    let overhead = 1.0 - part.0 as f64 / region.0.max(1) as f64;
    // What a thread alone would take.
    let alone = part.0 as f64 * team;
    let remedy = if alone <= region.0 as f64 {
        let words = "run them in one thread, start the program by foregather exec, or open one region around their loop";
        cures::one_thread_a_region(seen, words)
    } else {
        cures::step("open one region around their loop, or start the program by foregather exec")
    };
    (part < SHORT && overhead >= 0.4 && seen.per_elapsed(open) >= 0.2).then(|| NamedCause {
        cause: WaitCause::TinyRegions,
        certainty: Certainty::Sure,
        explains: Nanos(((region - part).0 as f64 * regions as f64 * team) as u64).min(seen.spent().total()),
        verdict: format!("regions do {:.1} us of work a thread, and take {:.1} us", micros(part), micros(region)),
        evidence: format!("{regions} regions in {:.1} s", seconds(seen.elapsed())),
        remedy,
    })
}

/// What it costs to let a worker sleep and to wake it. Workers spin rightly through gaps between regions that
/// are not several times as long.
const SLEEP_AND_WAKE: Nanos = Nanos::from_us(50);
const PAYS: u64 = 4;

pub(super) fn idle_spin(seen: &Observation) -> Option<NamedCause> {
    let is_spinner = |account: &&crate::ThreadAccount| account.during(ThreadActivity::Idle).ran > Nanos::ZERO;
    let spinners: Vec<_> = seen.ledger.threads.values().filter(is_spinner).collect();
    // A worker is idle for no longer than its leader has no region open, and leaders know that exactly.
    let leaders = recorded(seen).map(|record| record.counts).filter(|counts| counts.regions > 0);
    let open = Nanos(leaders.map(|counts| counts.region_ns).min().unwrap_or(0));
    let most = Nanos((seen.elapsed() - open).0 * spinners.len() as u64);
    let idle = spinners.iter().fold(Nanos::ZERO, |sum, account| sum + account.during(ThreadActivity::Idle).ran);
    let spun = idle.min(most);
    // A worker has one gap before each of its parts.
    let gaps: u64 = spinners.iter().filter_map(|account| account.recorded.as_ref()).map(|record| record.counts.parts).sum();
    let gap = Nanos(spun.0 / gaps.max(1));
    let workers = if spinners.len() == 1 { "1 worker spins".to_owned() } else { format!("{} workers spin", spinners.len()) };
    (gap >= Nanos(SLEEP_AND_WAKE.0 * PAYS)).then(|| NamedCause {
        cause: WaitCause::IdleSpin,
        certainty: Certainty::Sure,
        explains: spun,
        verdict: format!("{workers} while no region is open"),
        evidence: format!(
            "{:.1} s of processor time without work, {:.1} ms between two regions",
            seconds(spun),
            micros(gap) / 1e3
        ),
        remedy: cures::sleeping(seen),
    })
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}
