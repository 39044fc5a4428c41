//! Figures 6 and 7, and the conjecture of §3.3, on this machine: two threads exchange messages through shared
//! memory, by each way beside the bare fabric, over the length, and beside other threads of the same process
//! that compute.
//!
//! The static buffers of `worlds/shm` have one length, 4 KiB, so there is no sweep of them.
use super::pair::ExchangeMode;
use super::{farthest, number};
use crate::points::Points;
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_host::{affinity, clock};
use foregather_machine::{Error, Nanos};
use foregather_message::Path;
use foregather_results::Distribution;
use foregather_shm::{SegmentSpec, ShmFabric};
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// By the message layer in three ways, and by the fabric alone in two.
const WAYS: [&str; 5] = ["chosen", "static buffers", "memory to memory", "bare frames", "bare copies"];
const CHOSEN: usize = 0;
const BUFFERED: usize = 1;
const DIRECT: usize = 2;
const FRAMES: usize = 3;
const COPIES: usize = 4;
/// 4 B to 1 MiB, in steps of two powers of two.
const SIZES: [usize; 10] = [4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Small messages are at most so long.
const SMALL: usize = 1 << 10;
/// Up to that size latencies fit into one picture.
const SHORT: usize = 4 << 10;
/// Batches of each way, one after the other in turn.
const BATCHES: u32 = 7;
/// Bytes that a batch moves at most each way, and its most round trips.
const BATCH: (usize, usize) = (4 << 20, 1_000);
const IDS: [&str; 4] = ["fig6-here-throughput", "fig6-here-overhead", "fig7-here-small", "fig7-here-chosen"];
const LATENCY: Points = Points::namyst([
    "here-latency",
    "Figures 6 and 7 on this machine: short messages between two threads",
    "half a round trip, the best batch",
    "us",
])
.here();
const THROUGHPUT: Points = Points::namyst([
    "here",
    "Figures 6 and 7 on this machine: throughput between two threads",
    "throughput of a ping-pong",
    "MB/s",
])
.here();

/// Of one size, by the ways: half a round trip of each batch, in nanoseconds.
type HalfRoundTrips = [Vec<f64>; 5];

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn here(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let cpus = affinity::allowed();
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, WAYS.len() as u32))?;
    let batches = if trial.full { 5 * BATCHES } else { BATCHES };
    let both = foregather_thread::run(
        2,
        |rank| cpus.get(rank as usize).copied(),
        |_, rank| {
            let layered = |lane: usize, path| ExchangeMode::layered(&exchange, rank, lane as u32, path);
            let modes = [
                layered(CHOSEN, Path::Chosen)?,
                layered(BUFFERED, Path::Buffered)?,
                layered(DIRECT, Path::Direct)?,
                ExchangeMode::frames(&exchange, rank, FRAMES as u32)?,
                ExchangeMode::copies(&exchange, rank, COPIES as u32)?,
            ];
            SIZES.iter().map(|&bytes| batches_of(&modes, rank, bytes, batches)).collect::<Result<Vec<HalfRoundTrips>, Error>>()
        },
    )?;
    let both = both.into_iter().collect::<Result<Vec<_>, Error>>()?;
    draw(found, &both[0]);
    answer(found, &both[0]);
    Ok(())
}

fn batches_of(modes: &[ExchangeMode; 5], rank: u32, bytes: usize, batches: u32) -> Result<HalfRoundTrips, Error> {
    let mut memory = vec![1; bytes];
    let rounds = (BATCH.0 / bytes).clamp(4, BATCH.1);
    let mut halves = HalfRoundTrips::default();
    for _ in 0..=batches {
        for (mode, halves) in modes.iter().zip(&mut halves) {
            let began = clock::now();
            for _ in 0..rounds {
                mode.turn(rank == 0, &mut memory)?;
                mode.turn(rank == 1, &mut memory)?;
            }
            let Nanos(took) = clock::now() - began;
            halves.push(took as f64 / (2 * rounds) as f64);
        }
    }
    // The first batch of each way touches its memory.
    for halves in &mut halves {
        halves.remove(0);
    }
    Ok(halves)
}

fn draw(found: &mut Findings, all: &[HalfRoundTrips]) {
    for (&bytes, halves) in SIZES.iter().zip(all) {
        for (name, halves) in WAYS.iter().zip(halves) {
            let half_us = least(halves) / 1e3;
            if bytes <= SHORT {
                found.measurements.push(LATENCY.point(name, bytes, vec![half_us]));
            }
            let rates = halves.iter().map(|half| bytes as f64 * 1e3 / half).collect();
            found.measurements.push(THROUGHPUT.point(name, bytes, rates).figure("half_us", half_us));
        }
    }
}

fn answer(found: &mut Findings, all: &[HalfRoundTrips]) {
    let at = |bytes: usize, mode: usize| {
        let place = SIZES.iter().position(|&size| size == bytes).unwrap_or(0);
        least(&all[place][mode])
    };
    let (direct, copies) = (at(1 << 20, DIRECT), at(1 << 20, COPIES));
    let why = format!("{:.1} us half a round trip against {:.1}, the best of the batches", direct / 1e3, copies / 1e3);
    found.answer(IDS[0], number(copies / direct, why));
    let (direct, copies) = (at(4 << 10, DIRECT), at(4 << 10, COPIES));
    found.answer(IDS[1], number(direct - copies, format!("{direct:.0} ns against {copies:.0}")));
    let small: Vec<_> = SIZES.iter().filter(|&&size| size <= SMALL).map(|&size| at(size, BUFFERED) / at(size, DIRECT)).collect();
    found.answer(IDS[2], Answer::Each(small, "static buffers against memory to memory, 4 B to 1 KiB".into()));
    let regrets = SIZES.iter().map(|&size| at(size, CHOSEN) / at(size, BUFFERED).min(at(size, DIRECT))).collect::<Vec<_>>();
    let words = regrets.iter().map(|regret| format!("{regret:.2}")).collect::<Vec<_>>().join(" ");
    let middle = Distribution::quantile_of(regrets, 0.5);
    found.answer(IDS[3], number(middle, format!("by size {words}")));
}

/// Threads that compute, beside each of the two.
const WORKERS: [u32; 4] = [0, 1, 2, 4];
const BYTES: usize = 4 << 10;
/// How long messages pass at a time, and how often by each way in turn.
const SPAN: Nanos = Nanos::from_ms(100);
const SPANS: usize = 3;
/// Multiplications between two looks at whether it is over: some microseconds.
const CHUNK: u64 = 5_000;
const CONJECTURES: [&str; 2] = ["conjecture-here", "conjecture-here-round-trips"];
const KEPT: Points = Points::beside_workers([
    "conjecture-here",
    "Messages of 4 KiB beside working threads of this machine: what these get done",
    "work done, of that without messages",
    "%",
])
.here();
const TRIPS: Points = Points::beside_workers([
    "conjecture-here-trips",
    "Messages of 4 KiB beside working threads of this machine: what passes",
    "round trips",
    "per ms",
])
.here();

/// What passed and what was computed in one span.
#[derive(Clone, Copy, Default)]
struct SpanRates {
    trips_per_ms: f64,
    chunks_per_ms: f64,
}

/// The spans with one number of workers: without messages, by bare frames, by the message layer.
type Spans = [Vec<SpanRates>; 3];

pub(super) fn conjecture_here(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let spans = if trial.full { 5 * SPANS } else { SPANS };
    let (mut kept, mut round_trips) = (Vec::new(), Vec::new());
    for workers in WORKERS {
        let all = beside(workers, spans)?;
        let quiet = median(all[0].iter().map(|span| span.chunks_per_ms));
        for (mode, series) in [(1, "bare frames"), (2, "Madeleine")] {
            let values = |of: fn(&SpanRates) -> f64, unit: f64| all[mode].iter().map(|span| of(span) * unit).collect();
            found.measurements.push(TRIPS.point(series, workers as usize, values(|span| span.trips_per_ms, 1.0)));
            if workers > 0 {
                let share = 100.0 / quiet;
                found.measurements.push(KEPT.point(series, workers as usize, values(|span| span.chunks_per_ms, share)));
            }
        }
        // Spans beside each other met the same disturbances.
        let ratio = |of: fn(&SpanRates) -> f64| median(all[1].iter().zip(&all[2]).map(|(bare, layered)| of(layered) / of(bare)));
        round_trips.push(ratio(|span| span.trips_per_ms));
        if workers > 0 {
            kept.push(ratio(|span| span.chunks_per_ms));
        }
    }
    let words = |all: &[f64]| all.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ");
    let worst = farthest(kept.iter().copied());
    found.answer(CONJECTURES[0], number(worst, format!("{} with 1, 2, 4 workers beside each", words(&kept))));
    let least = round_trips[1..].iter().copied().fold(f64::INFINITY, f64::min);
    found.answer(
        CONJECTURES[1],
        number(least, format!("{} with 0, 1, 2, 4 workers; the least beside workers", words(&round_trips))),
    );
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Distribution::quantile_of(values, 0.5)
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
            let modes =
                || Ok([ExchangeMode::frames(&exchange, rank, 0)?, ExchangeMode::layered(&exchange, rank, 1, Path::Chosen)?]);
            let passed = modes().and_then(|modes| pass(&modes, rank == 0, chunks, spans));
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
fn pass(modes: &[ExchangeMode; 2], leads: bool, chunks: &AtomicU64, spans: usize) -> Result<Spans, Error> {
    let (mut all, mut memory) = (Spans::default(), vec![0; BYTES]);
    for _ in 0..spans {
        if leads {
            let (began, before) = (clock::now(), chunks.load(Relaxed));
            std::thread::sleep(std::time::Duration::from_nanos(SPAN.0));
            all[0].push(passed(began, chunks.load(Relaxed) - before, 0));
        }
        for (mode, all) in modes.iter().zip(&mut all[1..]) {
            let (began, before) = (clock::now(), chunks.load(Relaxed));
            for round_trips in 1.. {
                if leads {
                    memory[0] = u8::from(clock::now() - began >= SPAN);
                }
                mode.turn(leads, &mut memory)?;
                mode.turn(!leads, &mut memory)?;
                if memory[0] == 1 {
                    all.push(passed(began, chunks.load(Relaxed) - before, round_trips));
                    break;
                }
            }
        }
    }
    Ok(all)
}

fn passed(began: Nanos, chunks: u64, round_trips: u64) -> SpanRates {
    let ms = (clock::now() - began).0 as f64 / 1e6;
    SpanRates { trips_per_ms: round_trips as f64 / ms, chunks_per_ms: chunks as f64 / ms }
}
