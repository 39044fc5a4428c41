//! Measures the speed of the simulator of shared processors: events per second, on one processor, with 64
//! simulated ones.
//!
//! `cargo bench -p foregather-sim --bench simulator` prints a table; with `-- --check` it fails if a median
//! is below [`LEAST`]. Every row is one study of the figures of Tsafrir & Feitelson 2002 on twice their
//! processors; both event queues take turns. Processor time is what counts: other programs may run.
#![forbid(unsafe_code)]

use foregather_host::usage;
use foregather_machine::Nanos;
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::smp::{Eevdf, Granularity, Job, MachineSpec, Prices, Record, RoundRobin, Scheduler, Stop, Study, run_on};
use foregather_wait::Policy;
use std::process::ExitCode;

/// Million events a second that the median of every row must reach.
const LEAST: f64 = 5.0;
const CPUS: u32 = 64;
const REPETITIONS: usize = 9;

fn study(scheduler: Option<Scheduler>, jobs: Vec<Job>) -> Study {
    let mut machine = MachineSpec { cpus: CPUS, ..MachineSpec::tsafrir2002() };
    if let Some(scheduler) = scheduler {
        machine.scheduler = scheduler;
    }
    Study { machine, jobs, stop: Stop::FirstJob, limit: Nanos::from_ms(60_000), seed: 1, shuffled: true, record: Record::NOTHING }
}

fn job(threads: u32, barriers: u64, spin_us: u64) -> Job {
    let policy = Policy::TwoPhase { spin: Nanos::from_us(spin_us) };
    Job::meeting("job", threads, barriers, Granularity::Fine.normal(Nanos::from_us(6), 0.15), policy)
}

/// Million events a second of processor time.
fn rate<Q: Queue>(study: &Study) -> f64 {
    let began = usage::thread_cpu();
    let outcome = run_on::<Q>(study, || true).expect("the study makes sense");
    outcome.events as f64 / (usage::thread_cpu() - began).as_us()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let turns = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    let mut eevdf = study(Some(Scheduler::Eevdf(Eevdf::LINUX)), (0..8).map(|_| job(16, 2_000, 14)).collect());
    eevdf.machine.prices = Prices { line: Nanos(120), ..Prices::TSAFRIR_2002 };
    let rows = [
        ("round robin, 12 jobs of 16, CS", study(Some(turns), (0..12).map(|_| job(16, 3_000, 6)).collect())),
        ("Linux 2.4, job of 11 among 192, 2CS+", study(None, vec![job(11, 30_000, 14), Job::load("load", 181)])),
        ("Linux 2.4, 8 jobs of 16, 2CS+", study(None, (0..8).map(|_| job(16, 2_000, 14)).collect())),
        ("EEVDF, 8 jobs of 16, 2CS+", eevdf),
    ];
    println!("{:<40} {:>10} {:>10}   million events/s of processor time", "", "heap", "calendar");
    let mut slow = false;
    for (name, study) in rows {
        let (mut heap, mut calendar) = (Vec::new(), Vec::new());
        for _ in 0..REPETITIONS {
            heap.push(rate::<Heap>(&study));
            calendar.push(rate::<Calendar>(&study));
        }
        let (heap, calendar) = (median(heap), median(calendar));
        slow |= calendar < LEAST; // the queue that `run` takes
        println!("{name:<40} {heap:>10.2} {calendar:>10.2}");
    }
    if check && slow { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
