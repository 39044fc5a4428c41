//! Figures 6 and 7 on this machine: between two threads through shared memory, over the length, by each way beside the bare fabric.
//!
//! The static buffers of `worlds/shm` have one length, 4 KiB, so there is no sweep of them.
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
const LATENCY: Points = Points {
    name: "here-latency",
    title: "Figures 6 and 7 on this machine: short messages between two threads",
    what: "half a round trip, the best batch",
    unit: "us",
    over: "bytes",
    series: "series",
};
const THROUGHPUT: Points = Points {
    name: "here",
    title: "Figures 6 and 7 on this machine: throughput between two threads",
    what: "throughput of a ping-pong",
    unit: "MB/s",
    ..LATENCY
};

/// Of one size, by the ways: half a round trip of each batch, in nanoseconds.
type Halves = [Vec<f64>; 5];

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn here(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let cpus = affinity::allowed();
    if cpus.len() < 2 {
        for id in IDS {
            found.answer(id, Answer::CannotTry("this process may use only one processor".into()));
        }
        return Ok(found);
    }
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, WAYS.len() as u32))?;
    let batches = if trial.full { 5 * BATCHES } else { BATCHES };
    let both = foregather_thread::run(
        2,
        |rank| cpus.get(rank as usize).copied(),
        |_, rank| {
            let layered = |lane: usize, path| ExchangeMode::layered(&exchange, rank, lane as u32, path);
            let ways = [
                layered(CHOSEN, Path::Chosen)?,
                layered(BUFFERED, Path::Buffered)?,
                layered(DIRECT, Path::Direct)?,
                ExchangeMode::frames(&exchange, rank, FRAMES as u32)?,
                ExchangeMode::copies(&exchange, rank, COPIES as u32)?,
            ];
            SIZES.iter().map(|&bytes| batches_of(&ways, rank, bytes, batches)).collect::<Result<Vec<Halves>, Error>>()
        },
    )?;
    let both = both.into_iter().collect::<Result<Vec<_>, Error>>()?;
    draw(&mut found, &both[0]);
    answer(&mut found, &both[0]);
    Ok(found)
}

fn batches_of(ways: &[ExchangeMode; 5], rank: u32, bytes: usize, batches: u32) -> Result<Halves, Error> {
    let mut memory = vec![1; bytes];
    let rounds = (BATCH.0 / bytes).clamp(4, BATCH.1);
    let mut halves = Halves::default();
    for _ in 0..=batches {
        for (way, halves) in ways.iter().zip(&mut halves) {
            let began = clock::now();
            for _ in 0..rounds {
                way.turn(rank == 0, &mut memory)?;
                way.turn(rank == 1, &mut memory)?;
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

fn draw(found: &mut Findings, all: &[Halves]) {
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

fn answer(found: &mut Findings, all: &[Halves]) {
    let at = |bytes: usize, way: usize| {
        let place = SIZES.iter().position(|&size| size == bytes).unwrap_or(0);
        least(&all[place][way])
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
    let middle = Distribution::of_values(&regrets).map_or(f64::NAN, |all| all.quantile(0.5));
    found.answer(IDS[3], number(middle, format!("by size {words}")));
}
