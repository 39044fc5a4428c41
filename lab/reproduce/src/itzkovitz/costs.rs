//! Simulates the costs of messages, faults, barriers and locks from the costs of their parts (Table 1).
//! Counts what the programs share and how often they synchronise (Table 2), and compares minipages with pages
//! (section 4.3).
use super::archive::{Archive, LU_UNHINTED, water};
use super::recording::Recording;
use super::scenario::{Replayed, Scenario, replay};
use super::{count, number};
use crate::points::Points;
use crate::{Findings, TrialOptions};
use anyhow::Result;
use foregather_barrier::Algorithm as Barrier;
use foregather_bench::apps::tsp::Tsp;
use foregather_dsm::journal::{Event, Journal, Operation};
use foregather_dsm::node::WaitKind;
use foregather_dsm::{Access, Minipage};
use foregather_machine::{Address, Clock, Error, Fabric, Nanos, Rank, WaitContext};
use foregather_sim::cluster::{Cluster, ClusterSpec};
use foregather_sim::event::Heap;
use foregather_wait::{Policy, Waiter};
use std::sync::Arc;

/// The number of hosts in the paper.
const HOSTS: u32 = 8;
/// How often each operation is repeated. One repetition costs as much as another, so few are enough.
const ROUNDS: u32 = 20;
/// The host that requests a minipage or a lock.
const ASKS: Rank = 0;
/// The host that manages and owns it.
const OWNS: Rank = 1;
const COPIES: Points = Points::itzkovitz(
    ["costs-write", "Table 1, simulated: a write fault over the copies that must be closed", "a write fault", "us"],
    ["copies", "minipage"],
);
const BARRIERS: Points =
    Points::itzkovitz(["costs-barrier", "Table 1, simulated: a barrier over the hosts", "a barrier", "us"], ["hosts", "barrier"]);

/// Replays a program of one thread per host, with minipages of `bytes` bytes.
fn perform(scenario: &Scenario, hosts: u32, bytes: u32, did: impl Fn(Rank) -> Vec<Operation>) -> Result<Replayed> {
    // Before a barrier, each thread computes long enough for all earlier messages to be delivered, so that
    // all arrive at the same time.
    let computed_ns = |what: &Operation| if *what == Operation::Barrier { 1_000_000 } else { 0 };
    let event = |what| Event { computed_ns: computed_ns(&what), at_ns: 0, waited_ns: 0, what };
    let journal = |rank| Journal { thread: rank, events: did(rank).into_iter().map(event).collect(), ..Journal::default() };
    let journals: Vec<Journal> = (0..hosts).map(journal).collect();
    let bytes: Arc<[u32]> = vec![bytes; (hosts * (ROUNDS + 1)) as usize].into();
    replay(scenario, &journals, &bytes)
}

/// Returns the minipages that are touched, all managed by host [`OWNS`].
fn minipages() -> impl Iterator<Item = Minipage> {
    (0..ROUNDS).map(|round| Minipage(round * HOSTS + OWNS))
}

fn touches(access: Access) -> impl Iterator<Item = Operation> {
    minipages().map(move |minipage| Operation::touch(minipage, access, 0..4))
}

/// Returns the time of a fault in microseconds. The faulting host has no copy, the manager is the owner, and
/// `copies` other hosts have copies.
pub(super) fn fault(scenario: &Scenario, access: Access, bytes: u32, copies: u32) -> Result<f64> {
    let show = perform(scenario, HOSTS, bytes, |rank| {
        let mut did: Vec<Operation> = if rank == OWNS { touches(Access::Write).collect() } else { vec![] };
        did.push(Operation::Barrier);
        if (OWNS + 1..=OWNS + copies).contains(&rank) {
            did.extend(touches(Access::Read));
        }
        did.extend([Operation::Barrier, Operation::Start]);
        if rank == ASKS {
            did.extend(touches(access));
        }
        did.extend([Operation::Barrier, Operation::End]);
        did
    })?;
    let kind = if access == Access::Read { WaitKind::ReadFault } else { WaitKind::WriteFault };
    let waited = &show.threads[ASKS as usize].waited;
    Ok(waited.span(kind).as_us() / waited.count(kind).max(1) as f64)
}

/// Returns the time of a barrier of `hosts` hosts in microseconds.
fn barrier(scenario: &Scenario, hosts: u32) -> Result<f64> {
    let barriers = || std::iter::repeat_n(Operation::Barrier, ROUNDS as usize);
    let show = perform(scenario, hosts, 8, |_| {
        [Operation::Barrier, Operation::Start].into_iter().chain(barriers()).chain([Operation::End]).collect()
    })?;
    let last = show.threads.iter().map(|played| played.waited.span(WaitKind::Barrier)).max().unwrap_or_default();
    Ok(last.as_us() / f64::from(ROUNDS))
}

/// Returns the time to acquire and release a lock that no other host uses, in microseconds. Host `lock`
/// manages it.
fn lock(scenario: &Scenario, lock: u32) -> Result<f64> {
    let pair = move || std::iter::repeat_n([Operation::Lock(lock), Operation::Unlock(lock)], ROUNDS as usize).flatten();
    let show = perform(scenario, HOSTS, 8, |rank| {
        let mut did = vec![Operation::Start];
        if rank == ASKS {
            did.extend(pair());
        }
        did.push(Operation::End);
        did
    })?;
    Ok(show.threads[ASKS as usize].span.as_us() / f64::from(ROUNDS))
}

/// Returns the time of a message of `bytes` bytes, with its header of 32 bytes, between two programs that
/// poll, in microseconds.
fn message(scenario: &Scenario, bytes: usize) -> Result<f64> {
    let spec = ClusterSpec { limit: Nanos::MAX, ..ClusterSpec::new(2, 1, scenario.machine(), scenario.nic) };
    let cluster = Cluster::<Heap>::new(spec).map_err(anyhow::Error::msg)?;
    let bytes = bytes - scenario.nic.framing as usize;
    let report = cluster.run(async |lane| {
        let here = lane.here();
        let peer = Address { rank: 1 - here.rank, ..here };
        let waiter = Waiter::new(Policy::Spin, here.rank);
        for turn in 0..2 * ROUNDS {
            if turn % 2 == here.rank {
                lane.write_with(peer, |_| ());
                lane.post_filled(peer, 0, bytes)?;
            } else {
                let come = || lane.arrived(None);
                let from = waiter.on_lane(&lane, WaitContext::new("a message", here.rank), None, come).await?;
                lane.release(from);
            }
        }
        // The clock includes the costs of the last calls only after a wait.
        lane.delay(Nanos::ZERO).await;
        Ok::<Nanos, Error>(lane.now())
    });
    let ends = report.outputs.into_iter().flatten().collect::<Result<Vec<Nanos>, Error>>()?;
    Ok(ends.into_iter().max().unwrap_or_default().as_us() / f64::from(2 * ROUNDS))
}

pub(super) fn messages(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let scenario = Scenario::event_driven_1999();
    let claims = [("message-header", 32), ("message-half-k", 512), ("message-1k", 1_024), ("message-4k", 4_096)];
    for (claim, bytes) in claims {
        found.answer(claim, number(message(&scenario, bytes)?, "simulated, between two programs that poll"));
    }
    Ok(())
}

pub(super) fn costs(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let scenario = Scenario::event_driven_1999();
    faults(&scenario, found)?;
    let linear = Scenario { barrier: Barrier::Gather(HOSTS), ..scenario.clone() };
    let of = |scenario: &Scenario| (1..=HOSTS).map(|hosts| barrier(scenario, hosts)).collect::<Result<Vec<f64>>>();
    let (gather, dissemination) = (of(&linear)?, of(&scenario)?);
    for (name, all) in [("all to one and back", &gather), ("dissemination", &dissemination)] {
        let points = (1..).zip(all).map(|(hosts, &us)| BARRIERS.point(name, hosts, vec![us]));
        found.measurements.extend(points);
    }
    let (least, most) = (gather[0], gather[HOSTS as usize - 1]);
    found.answer("barrier-1", number(least, "simulated: all to one and back"));
    let why = format!("simulated: all to one and back; {:.0} by dissemination", dissemination[HOSTS as usize - 1]);
    found.answer("barrier-8", number(most, why));
    let slope = (most - gather[1]) / f64::from(HOSTS - 2);
    found.answer("barrier-slope", number(slope, "from 2 to 8 hosts"));
    let steps: Vec<f64> = gather[1..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    let off = steps.iter().map(|step| (step - slope).abs() / slope).fold(0.0, f64::max);
    found.answer("barrier-linear", number(off, format!("simulated, from 2 hosts on {steps:.1?} us for one host more")));
    let (near, far) = (lock(&scenario, ASKS)?, lock(&scenario, OWNS)?);
    found.answer("lock-least", number(near, "simulated, managed by the same host"));
    found.answer("lock-most", number(far, "simulated, managed by another"));
    Ok(())
}

fn faults(scenario: &Scenario, found: &mut Findings) -> Result<()> {
    let bare = Scenario { profile: foregather_dsm::replay::Profile::MILLIPAGE_1999, ..scenario.clone() };
    let sum = fault(&bare, Access::Read, 128, 0)?;
    let why = format!("simulated; {sum:.1} by the paper's single costs and the messages alone");
    found.answer("read-128", number(fault(scenario, Access::Read, 128, 0)?, why));
    found.answer("read-4k", number(fault(scenario, Access::Read, 4_096, 0)?, "simulated, with the same residual"));
    let (mut least_step, mut series) = (f64::INFINITY, vec![]);
    let copies = HOSTS - 2;
    for (bytes, least, most) in [(128, "write-128-least", "write-128-most"), (4_096, "write-4k-least", "write-4k-most")] {
        let all = (0..=copies).map(|copies| fault(scenario, Access::Write, bytes, copies)).collect::<Result<Vec<f64>>>()?;
        let points = all.iter().enumerate().map(|(copies, &us)| COPIES.point(&format!("{bytes} B"), copies, vec![us]));
        found.measurements.extend(points);
        least_step = all.windows(2).map(|pair| pair[1] - pair[0]).fold(least_step, f64::min);
        series.push(format!("{bytes} B: {all:.0?} us"));
        found.answer(least, number(all[0], "simulated, with the same residual, no copy to close but the owner's"));
        found.answer(most, number(all[copies as usize], format!("simulated, with the same residual, {copies} copies to close")));
    }
    found
        .answer("write-grows", number(least_step, format!("simulated, 0 to 6 copies beside the owner's: {}", series.join(", "))));
    Ok(())
}

pub(super) fn table2(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let archive = Archive::of(trial)?;
    let programs = [
        ("sor", archive.get("sor", HOSTS)?),
        ("is", archive.get("is", HOSTS)?),
        ("lu", archive.get(LU_UNHINTED, HOSTS)?),
        ("water", archive.get(&water(1), HOSTS)?),
        ("tsp", archive.get("tsp", HOSTS)?),
    ];
    let of = |name: &str| &programs.iter().find(|(other, _)| *other == name).expect("it is one of the five").1;
    // IS warms up before it starts the clock, so only later barriers count.
    let barriers = |name: &str| {
        let events = &of(name).journals[0].events;
        let start = events.iter().position(|event| name == "is" && event.what == Operation::Start).unwrap_or(0);
        events[start..].iter().filter(|event| event.what == Operation::Barrier).count() as u64
    };
    let locks = |name: &str| of(name).events().filter(|event| matches!(event.what, Operation::Lock(_))).count() as u64;
    let counted = "counted in a recording on eight ranks";
    for (claim, name) in [
        ("sor-barriers", "sor"),
        ("is-barriers", "is"),
        ("lu-barriers", "lu"),
        ("water-barriers", "water"),
        ("tsp-barriers", "tsp"),
    ] {
        found.answer(claim, count(barriers(name), counted));
    }
    found.answer("water-locks", count(locks("water"), counted));
    found.answer("tsp-locks", count(locks("tsp"), counted));
    let tsp = Tsp::paper();
    let unit = u64::from(tsp.unit_bytes.next_multiple_of(8));
    found.answer(
        "tsp-views",
        count(4_096 / unit, format!("a tour of {} bytes takes {unit}, so that its words are whole", tsp.unit_bytes)),
    );
    let shared = |name: &str| of(name).lengths().iter().map(|&bytes| u64::from(bytes)).sum::<u64>() / 1_024;
    found.answer("water-shared", count(shared("water"), "molecules, and sums of energies"));
    found.answer("tsp-shared", count(shared("tsp"), "tours, their queue, and what else is shared"));
    grains(&programs, found)
}

/// Counts the programs that have more faults with minipages than with pages, and are at least as slow.
fn grains(programs: &[(&str, Recording)], found: &mut Findings) -> Result<()> {
    let scenario = Scenario::event_driven_1999();
    let (mut more, mut text) = (0, vec![]);
    for (name, run) in programs {
        let (fine, coarse) = (run.replay(&scenario)?, run.play_by_pages(&scenario)?);
        let (one, other) = (fine.faults().0, coarse.faults().0);
        more += u64::from(one > other && fine.span() >= coarse.span());
        text.push(format!("{name} {one}/{other} faults, {:.1} times as quick", ratio(coarse.span(), fine.span())));
    }
    found.answer(
        "fine-grain",
        count(
            more,
            format!("by minipages and by pages, played on eight hosts that compute as they do here: {}", text.join(", ")),
        ),
    );
    Ok(())
}

fn ratio(one: Nanos, other: Nanos) -> f64 {
    one.0 as f64 / other.0.max(1) as f64
}
