//! Measures the speed of the network simulator: messages per second of wall time, in one butterfly barrier of
//! many nodes.
//!
//! `cargo bench -p foregather-sim --bench network` prints a table; with `-- --check` it fails if a row
//! misses its bound. `-- NODES SKEW_US ports|free` runs one case and prints one line of JSON, for comparisons
//! with other simulators. The entry skew decides the figure: at 0 every queue looks two to five times faster.
#![forbid(unsafe_code)]

use foregather_barrier::butterfly;
use foregather_host::{clock, usage};
use foregather_machine::{Error, LogGp, Nanos, Rank, SplitMix};
use foregather_sim::Run;
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::net::{Circuits, Network, profile};
use std::process::ExitCode;

const REPETITIONS: usize = 7;

/// What lies between the nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// Circuits, ports and interrupts of the iPSC/860.
    Ports,
    /// Nothing that could be in a packet's way.
    Free,
}

/// One case.
#[derive(Clone, Copy)]
struct Case {
    nodes: u32,
    skew_us: u64,
    between: Between,
}

/// What it took.
struct Took {
    seconds: f64,
    messages_per_s: f64,
    events: u64,
    trace: u64,
}

/// How a butterfly ended on all nodes.
type Ends = Run<Result<(), Error>>;

fn ends<Q: Queue>(case: Case) -> Result<Ends, Error> {
    let slots = case.nodes.trailing_zeros();
    let start = |rank: Rank| Nanos(SplitMix(u64::from(rank)).below((case.skew_us * 1_000).max(1)));
    match case.between {
        Between::Ports => {
            let network = Network::<Q, Circuits>::new(case.nodes, slots, profile::IPSC860)?;
            let network = network.interrupted(profile::AS_STATED, 7)?;
            let nodes = network.nodes();
            Ok(network.run(&nodes, start, butterfly))
        }
        Between::Free => {
            let network = Network::<Q, LogGp>::new(case.nodes, slots, profile::IPSC860_FREE)?;
            let nodes = network.nodes();
            Ok(network.run(&nodes, start, butterfly))
        }
    }
}

fn run<Q: Queue>(case: Case) -> Result<Took, Error> {
    let began = clock::now();
    let run = ends::<Q>(case)?;
    let seconds = (clock::now() - began).as_secs();
    run.outputs.into_iter().flatten().collect::<Result<(), _>>()?;
    let messages = u64::from(case.nodes) * u64::from(case.nodes.trailing_zeros());
    Ok(Took { seconds, messages_per_s: messages as f64 / seconds, events: run.events, trace: run.trace })
}

fn one(case: Case) -> Result<String, Error> {
    let took = run::<Calendar>(case)?;
    Ok(format!(
        r#"{{"nodes":{},"messages":{},"events":{},"seconds":{:.4},"messages_per_s":{:.0},"rss_mib":{:.1},"skew_us":{},"trace":"{:016x}"}}"#,
        case.nodes,
        u64::from(case.nodes) * u64::from(case.nodes.trailing_zeros()),
        took.events,
        took.seconds,
        took.messages_per_s,
        usage::peak_memory_kib() as f64 / 1024.0,
        case.skew_us,
        took.trace
    ))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs all rows, and returns whether they are within their limits.
fn table() -> Result<bool, Error> {
    let mut fine = true;
    println!("{:>8} {:>8} {:>10} {:>10} {:>10}  bound", "nodes", "network", "skew, us", "calendar", "heap");
    let case = |nodes, skew_us, between| Case { nodes, skew_us, between };
    let rows = [
        (case(16_384, 100, Between::Ports), 2.0),
        (case(16_384, 0, Between::Ports), 2.0),
        (case(16_384, 100, Between::Free), 2.0),
        (case(1 << 20, 100, Between::Free), 20.971_52 / 10.0),
    ];
    for (case, least) in rows {
        // A million nodes in a heap take a minute.
        let few = case.nodes <= 100_000;
        let (mut calendar, mut heap) = (vec![], vec![]);
        for _ in 0..if few { REPETITIONS } else { 3 } {
            let one = run::<Calendar>(case)?;
            calendar.push(one.messages_per_s / 1e6);
            if few {
                let other = run::<Heap>(case)?;
                assert_eq!(one.trace, other.trace, "both queues tell the same story");
                heap.push(other.messages_per_s / 1e6);
            }
        }
        let calendar = median(calendar);
        let heap = if few { format!("{:.2}M", median(heap)) } else { "-".to_owned() };
        fine &= calendar >= least;
        let network = if case.between == Between::Ports { "ports" } else { "free" };
        println!("{:>8} {network:>8} {:>10} {calendar:>9.2}M {heap:>10}  {least:.2}M messages/s", case.nodes, case.skew_us);
    }
    let memory_mib = usage::peak_memory_kib() / 1024;
    println!("peak memory {memory_mib} MiB, bound 1024");
    Ok(fine && memory_mib < 1_024)
}

fn main() -> ExitCode {
    clock::init();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => table().map(|_| true),
        ["--check"] => table(),
        [nodes, skew_us, between @ ("ports" | "free")] => {
            let between = if between == "ports" { Between::Ports } else { Between::Free };
            match (nodes.parse(), skew_us.parse()) {
                (Ok(nodes), Ok(skew_us)) => one(Case { nodes, skew_us, between }).map(|line| {
                    println!("{line}");
                    true
                }),
                _ => return usage(),
            }
        }
        _ => return usage(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("network: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: network [--check | NODES SKEW_US ports|free]");
    ExitCode::from(2)
}
