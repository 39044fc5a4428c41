//! Simulates the cost of spinning for eight threads at a barrier on four processors, under the scheduler of
//! today's Linux.
//!
//! `cargo add foregather --no-default-features --features sim`
use foregather::engine::{Costs, Nanos, Policy};
use foregather::sim::smp::{Distribution, Eevdf, Job, MachineSpec, Prices, Record, Scheduler, Stop, Study, run};

fn main() -> Result<(), String> {
    for (name, policy) in [("spin", Policy::Spin), ("block", Policy::Block), ("adaptive", Policy::default())] {
        let (scheduler, prices) = (Scheduler::Eevdf(Eevdf::LINUX), Prices::measured(&Costs::TYPICAL));
        let compute = Distribution::Exponential { mean_ns: 20_000.0 };
        let study = Study {
            machine: MachineSpec { cpus: 4, scheduler, prices, resolution: Nanos(1), ..MachineSpec::tsafrir2002() },
            jobs: vec![Job::meeting("team", 8, 100, compute, policy)],
            stop: Stop::AllJobs,
            limit: Nanos::from_ms(10_000),
            seed: 1,
            shuffled: true,
            record: Record::NOTHING,
        };
        let outcome = run(&study, || true)?;
        println!("{name:>8}: {:>9.1} ms", outcome.jobs[0].elapsed_ns / 1e6);
    }
    Ok(())
}
