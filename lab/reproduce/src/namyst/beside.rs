//! The conjecture of §3.3 on this machine: two threads that exchange messages, and others of the same process that compute.
use super::number;
use super::pair::ExchangeMode;
use super::points::Points;
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_host::{affinity, clock};
use foregather_machine::{Error, Nanos};
use foregather_message::Path;
use foregather_results::Distribution;
use foregather_shm::{SegmentSpec, ShmFabric};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Threads that compute, beside each of the two.
const WORKERS: [u32; 4] = [0, 1, 2, 4];
const BYTES: usize = 4 << 10;
/// How long messages pass at a time, and how often by each way in turn.
const SPAN: Nanos = Nanos::from_ms(100);
const SPANS: usize = 3;
/// Multiplications between two looks at whether it is over: some microseconds.
const CHUNK: u64 = 5_000;
const IDS: [&str; 2] = ["conjecture-here", "conjecture-here-round-trips"];
const KEPT: Points = Points {
    name: "conjecture-here",
    title: "Messages of 4 KiB beside working threads of this machine: what these get done",
    what: "work done, of that without messages",
    unit: "%",
    over: "workers",
    series: "series",
};
const TRIPS: Points = Points {
    name: "conjecture-here-trips",
    title: "Messages of 4 KiB beside working threads of this machine: what passes",
    what: "round trips",
    unit: "per ms",
    ..KEPT
};

/// What passed and what was computed in one span.
#[derive(Clone, Copy, Default)]
struct Passed {
    trips_per_ms: f64,
    chunks_per_ms: f64,
}

/// The spans with so many workers: without messages, by bare frames, by the message layer.
type Spans = [Vec<Passed>; 3];

pub(super) fn conjecture_here(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    if affinity::allowed().len() < 2 {
        for id in IDS {
            found.answer(id, Answer::CannotTry("this process may use only one processor".into()));
        }
        return Ok(found);
    }
    let spans = if trial.full { 5 * SPANS } else { SPANS };
    let (mut kept, mut trips) = (Vec::new(), Vec::new());
    for workers in WORKERS {
        let all = beside(workers, spans)?;
        let quiet = median(all[0].iter().map(|span| span.chunks_per_ms));
        for (way, series) in [(1, "bare frames"), (2, "Madeleine")] {
            let values = |of: fn(&Passed) -> f64, unit: f64| all[way].iter().map(|span| of(span) * unit).collect();
            found.measurements.push(TRIPS.point(series, workers as usize, values(|span| span.trips_per_ms, 1.0)));
            if workers > 0 {
                let share = 100.0 / quiet;
                found.measurements.push(KEPT.point(series, workers as usize, values(|span| span.chunks_per_ms, share)));
            }
        }
        // Spans beside each other met the same disturbances.
        let ratio = |of: fn(&Passed) -> f64| median(all[1].iter().zip(&all[2]).map(|(bare, layered)| of(layered) / of(bare)));
        trips.push(ratio(|span| span.trips_per_ms));
        if workers > 0 {
            kept.push(ratio(|span| span.chunks_per_ms));
        }
    }
    let words = |all: &[f64]| all.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ");
    let worst = kept.iter().copied().max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs())).unwrap_or(f64::NAN);
    found.answer(IDS[0], number(worst, format!("{} with 1, 2, 4 workers beside each", words(&kept))));
    let least = trips[1..].iter().copied().fold(f64::INFINITY, f64::min);
    found.answer(IDS[1], number(least, format!("{} with 0, 1, 2, 4 workers; the least beside workers", words(&trips))));
    Ok(found)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Distribution::of_values(&values.collect::<Vec<_>>()).map_or(f64::NAN, |all| all.quantile(0.5))
}

fn beside(workers: u32, spans: usize) -> Result<Spans> {
    let cpus = affinity::allowed();
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, 2))?;
    let (over, chunks) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let ends = foregather_thread::run(
        2 + 2 * workers,
        |rank| cpus.get(rank as usize % 2).copied(),
        |_, rank| {
            if rank >= 2 {
                work(over, chunks);
                return Ok(Spans::default());
            }
            let ways =
                || Ok([ExchangeMode::frames(&exchange, rank, 0)?, ExchangeMode::layered(&exchange, rank, 1, Path::Chosen)?]);
            let passed = ways().and_then(|ways| pass(&ways, rank == 0, chunks, spans));
            // Whatever has happened, the workers end.
            if rank == 0 || passed.is_err() {
                over.store(true, Relaxed);
            }
            passed
        },
    )?;
    let mut ends = ends.into_iter().collect::<Result<Vec<_>, Error>>()?;
    Ok(ends.swap_remove(0))
}

fn work(over: &AtomicBool, chunks: &AtomicU64) {
    let mut x = black_box(3_u64);
    while !over.load(Relaxed) {
        for _ in 0..CHUNK {
            x = x.wrapping_mul(x) | 1;
        }
        chunks.fetch_add(1, Relaxed);
    }
    black_box(x);
}

/// All spans: the leader says when each is over, by the first byte of its last message.
fn pass(ways: &[ExchangeMode; 2], leads: bool, chunks: &AtomicU64, spans: usize) -> Result<Spans, Error> {
    let (mut all, mut memory) = (Spans::default(), vec![0; BYTES]);
    for _ in 0..spans {
        if leads {
            let (began, before) = (clock::now(), chunks.load(Relaxed));
            std::thread::sleep(std::time::Duration::from_nanos(SPAN.0));
            all[0].push(passed(began, chunks.load(Relaxed) - before, 0));
        }
        for (way, all) in ways.iter().zip(&mut all[1..]) {
            let (began, before) = (clock::now(), chunks.load(Relaxed));
            for trips in 1.. {
                if leads {
                    memory[0] = u8::from(clock::now() - began >= SPAN);
                }
                way.turn(leads, &mut memory)?;
                way.turn(!leads, &mut memory)?;
                if memory[0] == 1 {
                    all.push(passed(began, chunks.load(Relaxed) - before, trips));
                    break;
                }
            }
        }
    }
    Ok(all)
}

fn passed(began: Nanos, chunks: u64, trips: u64) -> Passed {
    let ms = (clock::now() - began).0 as f64 / 1e6;
    Passed { trips_per_ms: trips as f64 / ms, chunks_per_ms: chunks as f64 / ms }
}
