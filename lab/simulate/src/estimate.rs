//! How long a plan will take, guessed before it is run: a plan that would run for hours should be known at
//! once.
use super::network::{self, Interconnect};
use super::plan::{Plan, Study};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_message::Protocol;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_sim::smp::{self, Accounting, Job, Scheduler, Stop};
use std::fmt;

/// How many events one processor of this machine simulates in a second.
const EVENTS_PER_S: f64 = 5e6;
/// Events of one thread from barrier to barrier: it computes, it spins, and now and then its processor
/// switches.
const EVENTS_PER_ROUND: f64 = 3.0;
/// Events of one message: it asks, leaves, arrives, and gives its ports back.
const EVENTS_PER_MESSAGE: f64 = 4.0;

/// A guess, good to a factor of three or so.
pub struct Estimate {
    /// How many simulations the plan has.
    pub runs: usize,
    /// Events of all simulations together.
    pub events: f64,
    /// Seconds that all simulations take, on the processors that the guess was made for.
    pub seconds: f64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = match self.seconds {
            s if s < 1.0 => "a second".to_owned(),
            s if s < 120.0 => format!("{s:.0} s"),
            s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
            s => format!("{:.0} h", s / 3_600.0),
        };
        write!(f, "{} runs, some {} million events: about {time} here", self.runs, digits(self.events / 1e6, 2))
    }
}

/// A table of the simulations that a plan asks for, with the events of each.
///
/// # Errors
/// None, for a plan that could be parsed.
pub fn table(plan: &Plan) -> Result<ResultTable> {
    // A swept seed is a column already.
    let is_seed = |(name, _): &(String, String)| name == "seed";
    let names: Vec<String> = plan.labels(0).into_iter().filter(|label| !is_seed(label)).map(|(name, _)| name).collect();
    let own: &[&str] = if plan.is_network() { &["seed", "nodes", "trials"] } else { &["seed", "processors", "jobs", "threads"] };
    let own = own.iter().chain(&["million-events"]).map(|&name| name.to_owned());
    let mut table = ResultTable::new(names.into_iter().chain(own));
    for point in 0..plan.points() {
        for seed in plan.seeds(point)? {
            let study = plan.study(point, seed)?;
            let numbers = match &study {
                Study::Smp(study) => {
                    let threads = study.jobs.iter().map(|job| u64::from(job.threads)).sum();
                    vec![seed, study.machine.cpus.into(), study.jobs.len() as u64, threads]
                }
                Study::Network(study) => vec![seed, study.nodes.into(), study.trials.into()],
            };
            let labels = plan.labels(point).into_iter().filter(|label| !is_seed(label)).map(|(_, label)| label);
            let numbers = numbers.iter().map(u64::to_string);
            table.rows.push(labels.chain(numbers).chain([digits(of_study(&study) / 1e6, 3)]).collect());
        }
    }
    Ok(table)
}

/// The guess for all of a plan on `processors` processors.
///
/// # Errors
/// None, for a plan that could be parsed.
pub fn of_plan(plan: &Plan, processors: usize) -> Result<Estimate> {
    let (mut runs, mut events) = (0, 0.0);
    for point in 0..plan.points() {
        let seeds = plan.seeds(point)?;
        runs += seeds.len();
        events += of_study(&plan.study(point, seeds[0])?) * seeds.len() as f64;
    }
    Ok(Estimate { runs, events, seconds: events / EVENTS_PER_S / processors.max(1) as f64 })
}

/// The number of events of one simulation.
pub fn of_study(study: &Study) -> f64 {
    match study {
        Study::Smp(study) => of_processors(study),
        Study::Network(study) => of_network(study),
    }
}

/// The events of all messages: each node sends as many as its barrier has rounds, and those of its shift.
fn of_network(study: &network::Study<Interconnect>) -> f64 {
    let rounds = study.barrier.map_or(0.0, |_| f64::from(study.nodes).log2().ceil() + 1.0);
    let packets = study.shift.map_or(0.0, |shift| if shift.protocol == Protocol::Long { 3.0 } else { 1.0 });
    f64::from(study.nodes) * f64::from(study.trials) * (rounds + packets) * EVENTS_PER_MESSAGE
}

/// The events of all rounds, and those of processors that share threads out.
fn of_processors(study: &smp::Study) -> f64 {
    let machine = &study.machine;
    let threads: f64 = study.jobs.iter().map(|job| f64::from(job.threads)).sum();
    let crowd = (threads / f64::from(machine.cpus)).max(1.0);
    // Of threads that share a lock, one at a time holds it.
    let held_ns = |job: &Job| job.lock.as_ref().map_or(0.0, |lock| lock.hold.mean_ns() * f64::from(job.threads) / crowd);
    let round_ns = |job: &Job| (job.compute.mean_ns() + held_ns(job) + 2.0 * machine.prices.switch.0 as f64) * crowd;
    let meeting = || study.jobs.iter().filter(|job| job.meets());
    let whole = meeting().map(|job| round_ns(job) * job.barriers as f64);
    let lasts_ns = match study.stop {
        Stop::FirstJob => whole.fold(f64::INFINITY, f64::min),
        Stop::AllJobs => whole.fold(0.0, f64::max),
        Stop::Limit => f64::INFINITY,
    }
    .min(study.limit.0 as f64);
    let rounds = |job: &Job| f64::from(job.threads) * (job.barriers as f64).min(lasts_ns / round_ns(job));
    let turn_ns = match &machine.scheduler {
        Scheduler::RoundRobin(rules) => rules.quantum,
        Scheduler::Linux24(rules) if rules.accounting == Accounting::Exact => rules.tick * u64::from(rules.allocation_ticks),
        Scheduler::Linux24(rules) => rules.tick,
        Scheduler::Eevdf(rules) => rules.tick,
        Scheduler::Priority => Nanos::MAX,
    }
    .max(Nanos(1))
    .0 as f64;
    meeting().map(rounds).sum::<f64>() * EVENTS_PER_ROUND + f64::from(machine.cpus) * 2.0 * lasts_ns / turn_ns
}
