//! Compares the public API with the engine below it and with other libraries, which take turns in one run.
//!
//! `cargo bench -p foregather --bench door` prints all sections; `-- barrier slices` prints the named ones.
//! Medians of interleaved rounds; `ratio` is the median of each round's ratio to the row named next to it.
//! CPU time is that of the whole process.

#![forbid(unsafe_code)]

mod barrier;
mod job;
mod shared;
mod slices;

use foregather::engine::host::{clock, usage};
use std::env::args;

const SECTIONS: [(&str, fn()); 4] =
    [("barrier", barrier::run), ("slices", slices::run), ("job", job::run), ("shared", shared::run)];

fn main() {
    barrier::be_a_hog();
    clock::init();
    let asked: Vec<String> = args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, run) in SECTIONS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            println!("\n## {name}\n");
            run();
        }
    }
}

/// The cost of an operation of one batch, in nanoseconds of wall time and of CPU time.
#[derive(Clone, Copy)]
struct Cost {
    time_ns: f64,
    cpu_ns: f64,
}

/// Times a batch of `operations`.
fn timed(operations: u32, batch: impl FnOnce()) -> Cost {
    let (began, cpu) = (clock::now(), usage::process_cpu());
    batch();
    let per = |span: foregather::engine::Nanos| span.0 as f64 / f64::from(operations);
    Cost { time_ns: per(clock::now() - began), cpu_ns: per(usage::process_cpu() - cpu) }
}

/// Runs every contestant once per round, each round starting with a different one, and prints a row for each.
fn compare(what: &str, rounds: usize, contestants: &mut [(&str, &mut dyn FnMut() -> Cost)], beside: usize) {
    let mut costs = vec![Vec::new(); contestants.len()];
    for round in 0..=rounds {
        for step in 0..contestants.len() {
            let at = (round + step) % contestants.len();
            let cost = contestants[at].1();
            // The first round warms up.
            if round > 0 {
                costs[at].push(cost);
            }
        }
    }
    let rows: Vec<_> = contestants.iter().map(|(name, _)| *name).zip(costs).collect();
    print(what, &rows, beside);
}

/// Prints a row for each contestant: medians of its rounds.
fn print(what: &str, rows: &[(&str, Vec<Cost>)], beside: usize) {
    let (against, other) = &rows[beside];
    println!("{what:<28} {:>12} {:>12} {:>14}", "ns", "cpu ns", format!("ratio to {against}"));
    for (name, own) in rows {
        let ratios = own.iter().zip(other).map(|(own, other)| own.time_ns / other.time_ns);
        let (time_ns, cpu_ns) = (median(own.iter().map(|cost| cost.time_ns)), median(own.iter().map(|cost| cost.cpu_ns)));
        println!("  {name:<26} {time_ns:>12.1} {cpu_ns:>12.1} {:>14.3}", median(ratios));
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
