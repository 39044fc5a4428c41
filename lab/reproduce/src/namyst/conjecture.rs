//! The conjecture at the end of §3.3, simulated: with other working threads the message layer costs about what raw VIA does.
use super::number;
use super::play::{bare, layered, simulate_some, steady};
use super::points::Points;
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_machine::{Clock, Nanos};
use foregather_message::Path;
use foregather_sim::cluster::ClusterSpec;
use foregather_sim::cluster::raw::{PingPong, Registration};
use foregather_sim::smp::{RoundRobin, Scheduler};
use foregather_wait::Policy;

/// Threads of a node that compute.
const WORKERS: [u32; 4] = [0, 1, 2, 4];
const BYTES: usize = 4 << 10;
/// Round trips: turns average out over them.
const ROUNDS: u32 = 20;
/// How long workers are watched without messages.
const QUIET: Nanos = Nanos::from_ms(10_000);
/// Turns of a thread library; the paper says nothing of its own.
const QUANTUM: Nanos = Nanos::from_ms(10);
/// How it waits, under which scheduler.
const CIRCUMSTANCES: [(&str, Policy, bool); 4] = [
    ("round robin, asleep", Policy::Block, true),
    ("round robin, yields", Policy::Yield, true),
    ("Linux 2.2, asleep", Policy::Block, false),
    ("Linux 2.2, yields", Policy::Yield, false),
];
const LATENCY: Points = Points {
    name: "conjecture-latency",
    title: "Messages of 4 KiB beside working threads, simulated: latency",
    what: "half a round trip",
    unit: "ms",
    over: "workers",
    series: "series",
};
const TAKEN: Points = Points {
    name: "conjecture-processor",
    title: "Messages of 4 KiB beside working threads, simulated: what a message takes from these",
    what: "processor time a message",
    unit: "us",
    ..LATENCY
};
const TOTAL: Points = Points {
    name: "conjecture-total",
    title: "Messages of 4 KiB beside working threads, simulated: until both are done",
    what: "time, of that over raw VIA",
    unit: "%",
    ..LATENCY
};

/// Both layers beside so many workers.
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
        (2.0 * self.undisturbed * of.elapsed.as_us() - of.computed.as_us()) / f64::from(2 * ROUNDS)
    }

    /// Messages and work together, over the one as a multiple of over the other. The work is what fits beside the slower: what is
    /// left of it when the messages have passed is done at full speed.
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
        spec.machine.scheduler = Scheduler::RoundRobin(RoundRobin { quantum: QUANTUM });
    }
    let raw = steady(ROUNDS, |rounds| bare(&spec, Registration::PerMessage, BYTES, rounds))?;
    Ok(Layers {
        workers,
        undisturbed: undisturbed(&spec, workers)?,
        raw,
        layered: steady(ROUNDS, |rounds| layered(&spec, Path::Direct, BYTES, rounds))?,
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

pub(super) fn conjecture(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    for (place, (name, policy, turns)) in CIRCUMSTANCES.into_iter().enumerate() {
        let pairs = WORKERS.map(|workers| pair(workers, policy, turns)).into_iter().collect::<Result<Vec<_>>>()?;
        draw(&mut found, name, &pairs);
        if place == 0 {
            answer(&mut found, &pairs[1..]);
        } else {
            let of = |pair: &Layers| {
                format!("{:.2} x in latency and {:.3} x in all with {}", pair.slower(), pair.total(), pair.workers)
            };
            let all: Vec<_> = pairs[1..].iter().map(of).collect();
            found.notes.push(format!("conjecture, {name}: {}", all.join(", ")));
        }
    }
    Ok(found)
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
            add(&TOTAL, "Madeleine", 100.0 * pair.total());
        }
    }
}

/// The one farthest from 1.
fn farthest(values: impl Iterator<Item = f64>) -> f64 {
    values.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs())).unwrap_or(f64::NAN)
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
