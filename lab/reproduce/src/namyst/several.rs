//! Several threads of a node that exchange messages, and threads that compute beside them: the conjecture of
//! Namyst et al. 1999, §3.3.
use super::play::{ROUNDS, bare, layered, settings, simulate, simulate_some, steady, to_and_fro, turn};
use super::{farthest, number};
use crate::points::Points;
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_machine::{Clock, Fabric, Member, Nanos};
use foregather_message::{Messenger, Path, Settings};
use foregather_sim::cluster::ClusterSpec;
use foregather_sim::cluster::raw::{PingPong, Registration};
use foregather_sim::smp::{RoundRobin, Scheduler};
use foregather_wait::Policy;

/// A turn of a thread library that lets no thread in before it is over.
const QUANTUM: Nanos = Nanos::from_us(1_000);
/// What is transferred: the longest message of one descriptor, often enough that the 200 ms for which Linux
/// 2.2 lets no sleeper in at once after the start are few.
const BYTES: usize = 32 << 10;
const TRANSFERS: u32 = 1_000;
/// Small messages of the others.
const SMALL: usize = 32;

/// Two nodes of `threads` threads, which sleep while they wait: under Linux 2.2, or taking turns.
fn nodes(threads: u32, turns: bool) -> ClusterSpec {
    let mut spec = ClusterSpec { wait: Policy::Block, ..ClusterSpec::namyst1999(2, threads) };
    if turns {
        spec.machine.scheduler = Scheduler::RoundRobin(RoundRobin { quantum: QUANTUM });
    }
    spec
}

pub(super) fn overlap(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let alone = together(false, Nanos::ZERO)?;
    // As long as the transfer, so that neither hides the other.
    let both = together(false, alone)?;
    let in_turns = together(true, alone)?.0 as f64 / alone.0 as f64;
    let why = format!(
        "{both} for both, {alone} for each alone; {in_turns:.2} x where a waiter is let in only after a turn of {QUANTUM}"
    );
    found.answer("overlap-on-one-processor", number(both.0 as f64 / alone.0 as f64, why));
    let (one, two) = (at_once(1)?, at_once(2)?);
    let share = two.0 as f64 / (2 * one.0) as f64;
    let why = format!("{two} for two threads at once, {one} for one");
    found.answer("several-threads-send-at-once", number(share, why));
    let (polled, slept) = (interrupts(1, None)?, interrupts(2, None)?);
    let spinning = interrupts(1, Some(Policy::Spin))?.1;
    let why = format!("adaptive waiting, simulated; alone a message takes {}, and {spinning} if it is polled for", polled.1);
    found.answer("completion-by-thread-state", number(polled.0, why));
    found.answer("completion-by-interrupt", number(slept.0, "adaptive waiting, simulated, beside a worker"));
    Ok(())
}

/// When both are done: a thread of node 0 that takes in transfers, and one beside it that computes for so
/// long.
fn together(turns: bool, work: Nanos) -> Result<Nanos> {
    let spec = nodes(2, turns);
    let played = simulate(spec.clone(), async |lane| {
        if lane.here().lane == 1 {
            lane.delay(if lane.rank() == 0 { work } else { Nanos::ZERO }).await;
            return Ok(lane.now());
        }
        let messenger = Messenger::new(lane, settings(&spec, Path::Direct))?;
        let mut memory = vec![0; BYTES];
        for _ in 0..TRANSFERS {
            turn(&messenger, messenger.rank() == 1, &mut memory).await?;
        }
        messenger.delay(Nanos::ZERO).await;
        Ok(messenger.now())
    })?;
    Ok(played.outputs[0].max(played.outputs[1]))
}

/// How long it takes until as many threads of two nodes, each in its lane, have exchanged small messages.
fn at_once(threads: u32) -> Result<Nanos> {
    let spec = nodes(threads, false);
    let played = simulate(spec.clone(), async |lane| {
        let messenger = Messenger::new(lane, settings(&spec, Path::Chosen))?;
        to_and_fro(&messenger, &mut [0; SMALL], ROUNDS).await?;
        messenger.delay(Nanos::ZERO).await;
        Ok(messenger.now())
    })?;
    Ok(played.outputs.into_iter().max().unwrap_or_default())
}

/// Interrupts for each small message, where all other threads compute, and half a round trip.
fn interrupts(threads: u32, policy: Option<Policy>) -> Result<(f64, Nanos)> {
    let (outputs, report) = simulate_some(nodes(threads, false), async |lane| {
        while lane.here().lane > 0 {
            lane.delay(Nanos::MAX).await;
        }
        let messenger = Messenger::new(lane, Settings { policy, ..Settings::default() })?;
        let began = messenger.now();
        to_and_fro(&messenger, &mut [0; SMALL], ROUNDS).await?;
        messenger.fabric().stop();
        Ok(messenger.now() - began)
    })?;
    let all: u64 = report.counts.iter().map(|counts| counts.interrupts).sum();
    let took = outputs.into_iter().flatten().max().unwrap_or_default();
    Ok((all as f64 / f64::from(2 * ROUNDS), Nanos(took.0 / u64::from(2 * ROUNDS))))
}

/// Threads of a node that compute.
const WORKERS: [u32; 4] = [0, 1, 2, 4];
const WORKING_BYTES: usize = 4 << 10;
/// Round trips: turns average out over them.
const WORKING_ROUNDS: u32 = 20;
/// How long workers are watched without messages.
const QUIET: Nanos = Nanos::from_ms(10_000);
/// Turns of a thread library; the paper says nothing of its own.
const WORKING_QUANTUM: Nanos = Nanos::from_ms(10);
/// How it waits, under which scheduler.
const CIRCUMSTANCES: [(&str, Policy, bool); 4] = [
    ("round robin, asleep", Policy::Block, true),
    ("round robin, yields", Policy::Yield, true),
    ("Linux 2.2, asleep", Policy::Block, false),
    ("Linux 2.2, yields", Policy::Yield, false),
];
const LATENCY: Points = Points::beside_workers([
    "conjecture-latency",
    "Messages of 4 KiB beside working threads, simulated: latency",
    "half a round trip",
    "ms",
]);
const TAKEN: Points = Points::beside_workers([
    "conjecture-processor",
    "Messages of 4 KiB beside working threads, simulated: what a message takes from these",
    "processor time a message",
    "us",
]);
const TOTAL: Points = Points {
    series: "circumstance",
    ..Points::beside_workers([
        "conjecture-total",
        "Messages of 4 KiB beside working threads, simulated: until both are done",
        "time over Madeleine, of that over raw VIA",
        "%",
    ])
};

/// Both layers beside the same number of workers.
struct Layers {
    workers: u32,
    /// Which part of a processor these have without messages: they take turns.
    undisturbed: f64,
    raw: PingPong,
    layered: PingPong,
}

impl Layers {
    /// Time on the processor of a node that its workers would have had without messages, for each message.
    fn taken(&self, of: &PingPong) -> f64 {
        (2.0 * self.undisturbed * of.elapsed.as_us() - of.computed.as_us()) / f64::from(2 * WORKING_ROUNDS)
    }

    /// Messages and work together, over the one as a multiple of over the other. The work is what fits beside
    /// the slower: what is left of it when the messages have passed is done at full speed.
    fn total(&self) -> f64 {
        let work = self.raw.computed.max(self.layered.computed).as_us() / 2.0;
        let until = |of: &PingPong| of.elapsed.as_us() + work - of.computed.as_us() / 2.0;
        until(&self.layered) / until(&self.raw)
    }

    fn slower(&self) -> f64 {
        self.layered.half.0 as f64 / self.raw.half.0 as f64
    }
}

fn pair(workers: u32, policy: Policy, turns: bool) -> Result<Layers> {
    let mut spec = ClusterSpec { wait: policy, ..ClusterSpec::namyst1999(2, 1 + workers) };
    if turns {
        spec.machine.scheduler = Scheduler::RoundRobin(RoundRobin { quantum: WORKING_QUANTUM });
    }
    let raw = steady(WORKING_ROUNDS, |rounds| bare(&spec, Registration::PerMessage, WORKING_BYTES, rounds))?;
    Ok(Layers {
        workers,
        undisturbed: undisturbed(&spec, workers)?,
        raw,
        layered: steady(WORKING_ROUNDS, |rounds| layered(&spec, Path::Direct, WORKING_BYTES, rounds))?,
    })
}

fn undisturbed(spec: &ClusterSpec, workers: u32) -> Result<f64> {
    if workers == 0 {
        return Ok(0.0);
    }
    let alone = ClusterSpec { nodes: 1, threads: workers, limit: QUIET, ..spec.clone() };
    let (_, report) = simulate_some(alone, async |lane| {
        lane.delay(Nanos::MAX).await;
        Ok(())
    })?;
    let computed = report.splits.iter().fold(Nanos::ZERO, |sum, split| sum + split.compute);
    Ok(computed.0 as f64 / QUIET.0 as f64)
}

pub(super) fn conjecture(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    for (place, (name, policy, turns)) in CIRCUMSTANCES.into_iter().enumerate() {
        let pairs = WORKERS.map(|workers| pair(workers, policy, turns)).into_iter().collect::<Result<Vec<_>>>()?;
        draw(found, name, &pairs);
        if place == 0 {
            answer(found, &pairs[1..]);
        } else {
            let of = |pair: &Layers| {
                format!("{:.2} x in latency and {:.3} x in all with {}", pair.slower(), pair.total(), pair.workers)
            };
            let all: Vec<_> = pairs[1..].iter().map(of).collect();
            found.notes.push(format!("conjecture, {name}: {}", all.join(", ")));
        }
    }
    Ok(())
}

fn draw(found: &mut Findings, name: &str, pairs: &[Layers]) {
    for pair in pairs {
        let at = pair.workers as usize;
        let mut add = |points: &Points, series: &str, value| {
            let mut point = points.point(series, at, vec![value]).label("circumstance", name);
            point.id = format!("{}/{}", point.id, name.replace(' ', "-"));
            found.measurements.push(point);
        };
        for (series, of) in [("raw VIA", &pair.raw), ("Madeleine", &pair.layered)] {
            add(&LATENCY, series, of.half.as_us() / 1e3);
            if at > 0 {
                add(&TAKEN, series, pair.taken(of));
            }
        }
        if at > 0 {
            found.measurements.push(TOTAL.point(name, at, vec![100.0 * pair.total()]));
        }
    }
}

fn answer(found: &mut Findings, pairs: &[Layers]) {
    let words = |of: &dyn Fn(&Layers) -> String| pairs.iter().map(of).collect::<Vec<_>>().join(", ");
    let beside = "with 1, 2, 4 workers";
    let totals = words(&|pair| format!("{:.3}", pair.total()));
    found.answer("conjecture-total-time", number(farthest(pairs.iter().map(Layers::total)), format!("{totals} {beside}")));
    let slower = words(&|pair| format!("{:.2}", pair.slower()));
    found.answer("conjecture-latency", number(farthest(pairs.iter().map(Layers::slower)), format!("{slower} {beside}")));
    let more = |pair: &Layers| pair.taken(&pair.layered) - pair.taken(&pair.raw);
    let raw = words(&|pair| format!("{:.0}", pair.taken(&pair.raw)));
    let why = format!("more than raw VIA takes for a message, {raw} us, {beside}");
    found.answer("conjecture-processor-time", Answer::Each(pairs.iter().map(more).collect(), why));
}
