//! Every barrier twice over: what it costs, and how unevenly its members leave it; and what was predicted.
//!
//! - [`predict`](mod@predict): the cost in a simulated network with this machine's LogGP parameters.
//! - [`front`](mod@front): the ranking on both. [`output`](mod@output): measurements and the table for people.

pub mod front;
pub mod output;
pub mod predict;

use crate::Measured;
use anyhow::Result;
use foregather_barrier::{Algorithm, SignalCost};
use foregather_bench::prices::Price;
use foregather_bench::skew::{self, Release, Series, Setup};
use foregather_bench::{loggp, skew::Episode};
use foregather_cli::Skew;
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::{LogGp, Nanos, SplitMix};
use foregather_results::Measurement;
use foregather_results::progress::Progress;
use foregather_wait::Policy;

/// Members come spread over this time: longer than any spinning barrier takes.
pub const ENTRY_SKEW: Nanos = Nanos(1_700);
/// Whose costs are measured, and for `--quick`.
const POLICIES: [&str; 3] = ["spin", "block", "two-phase:2CS+:remote"];
const QUICK_POLICIES: [&str; 2] = ["spin", "block"];
/// All series together take no longer, however busy the machine is; idle, they take a tenth.
const TIME: Nanos = Nanos::from_ms(34_000);
const QUICK_TIME: Nanos = Nanos::from_ms(8_000);

/// One barrier, one policy, one release: all repetitions.
pub struct Case {
    kind: Algorithm,
    policy: Policy,
    policy_name: &'static str,
    release: Release,
    series: Vec<Series>,
}

impl Case {
    /// All episodes of all repetitions.
    fn episodes(&self) -> impl Iterator<Item = &Episode> {
        self.series.iter().flat_map(|series| &series.episodes)
    }
}

/// Runs what the options ask for.
///
/// # Errors
/// If a series cannot be run at all.
pub fn run(options: &Skew, quiet: bool) -> Result<Measured> {
    let (policies, usual) = if options.quick { (QUICK_POLICIES.as_slice(), 3) } else { (POLICIES.as_slice(), 7) };
    let mut notes: Vec<String> = vec![offset()];
    let mut parameters = Parameters::default();
    parameters.measure(&mut notes);
    let mut cases = cases(options.threads, policies, parameters.all.first(), &mut notes)?;
    let repetitions = options.repetitions.unwrap_or(usual);
    let at_most = Nanos(if options.quick { QUICK_TIME } else { TIME }.0 / (cases.len() as u64 * u64::from(usual)));
    let mut progress = Progress::new("skew", cases.len() * repetitions as usize, quiet);
    let mut random = SplitMix(options.seed);
    for repetition in 0..repetitions {
        // Where the host runs two virtual processors, and so what a line costs, changes from moment to moment.
        if repetition > 0 && !parameters.all.is_empty() {
            parameters.measure(&mut notes);
        }
        for i in random.shuffled(cases.len()) {
            let case = &mut cases[i];
            progress.step(&format!("{} {} {}", case.kind.name(), case.policy_name, case.release.name()));
            if !interrupt::requested() {
                case.series.push(skew::run(&setup(options, case, at_most, random.next()))?);
            }
        }
    }
    let (cpus, mut measurements) = (affinity::allowed().len(), parameters.measurements());
    let found = output::measurements(&cases, |case, repetition| {
        // Only a spinner's releases are messages and nothing else, and only if it has a processor of its own.
        let spins = case.policy == Policy::Spin && case.release == Release::Plain && options.threads as usize <= cpus;
        predict::predict(case.kind, options.threads, parameters.all.get(repetition).filter(|_| spins)?)
    });
    measurements.extend(found.into_iter().map(|m| m.label("threads", options.threads.to_string())));
    Ok(Measured { measurements, notes })
}

fn setup(options: &Skew, case: &Case, at_most: Nanos, seed: u64) -> Setup {
    // Sleepers take twenty times as long.
    let episodes = if case.policy == Policy::Block { 1_000 } else { 4_000 } / if options.quick { 2 } else { 1 };
    Setup {
        kind: case.kind,
        policy: case.policy,
        release: case.release,
        threads: options.threads,
        cpus: affinity::allowed(),
        entry_skew: ENTRY_SKEW,
        episodes,
        at_most,
        seed,
    }
}

/// All that can be run with so many members. RDS waits by what a hop costs here.
fn cases(threads: u32, policies: &[&'static str], loggp: Option<&LogGp>, notes: &mut Vec<String>) -> Result<Vec<Case>> {
    let costs = crate::machine_file::load_or_measure()?;
    let mut cases = Vec::new();
    for kind in Algorithm::ALL {
        if let Err(error) = kind.takes(threads) {
            notes.push(error.to_string());
            continue;
        }
        let kind = match (kind, loggp) {
            (Algorithm::Rds { .. }, Some(loggp)) => {
                Algorithm::Rds { hop: SignalCost { send: loggp.send_overhead, latency: loggp.null() } }
            }
            _ => kind,
        };
        for &policy_name in policies {
            let policy = Policy::parse(policy_name, &costs)?;
            let case = |release| Case { kind, policy, policy_name, release, series: vec![] };
            cases.extend(Release::ALL.map(case));
        }
    }
    Ok(cases)
}

/// This machine's LogGP parameters, repetition by repetition, and what they came from.
#[derive(Default)]
struct Parameters {
    all: Vec<LogGp>,
    raw: Vec<Price>,
}

impl Parameters {
    /// Once more; without a second processor only a note.
    fn measure(&mut self, notes: &mut Vec<String>) {
        match loggp::measure() {
            Ok((parameters, prices)) => {
                self.all.push(parameters);
                for price in prices {
                    match self.raw.iter_mut().find(|known| known.name == price.name) {
                        Some(known) => known.samples_ns.extend(price.samples_ns),
                        None => self.raw.push(price),
                    }
                }
            }
            Err(error) => notes.push(format!("no LogGP parameters, so nothing is predicted: {error}")),
        }
    }

    fn measurements(&self) -> Vec<Measurement> {
        if self.all.is_empty() {
            return vec![];
        }
        let named = |name: &str, what: &str, unit: &str, of: fn(&LogGp) -> u64| {
            let values = self.all.iter().map(|parameters| of(parameters) as f64).collect();
            Measurement::from_values(format!("loggp/{name}"), what, unit, values).label("parameter", name)
        };
        let mut all = vec![
            named("L", "from the end of the sender's overhead to the beginning of the receiver's", "ns", |p| p.latency.0),
            named("o-send", "overhead of the sender", "ns", |p| p.send_overhead.0),
            named("o-receive", "overhead of the receiver", "ns", |p| p.receive_overhead.0),
            named("g", "gap between two messages of one sender", "ns", |p| p.gap.0),
            named("G", "one byte's share", "ps", |p| p.byte_ps),
        ];
        all.extend(self.raw.iter().map(|price| {
            let name = price.name.trim_end_matches("_ns");
            Measurement::from_values(format!("loggp/raw/{name}"), price.what, "ns", price.samples_ns.clone())
                .label("parameter", name)
        }));
        all
    }
}

/// How far the counters by which the skew was measured may be apart.
fn offset() -> String {
    let [a, b, ..] = affinity::allowed()[..] else { return "one processor only: members cannot leave at one moment".into() };
    match clock::cross_cpu_offset_bound(a, b) {
        Ok(found) => format!(
            "exit skew is the agreement of two processors' counters, which are {:.0} +- {:.0} ns apart (processors {a} and {b})",
            found.offset_ns, found.bound_ns
        ),
        Err(error) => format!("how far the processors' counters are apart is not known: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_takes_the_team_is_run_in_both_ways() {
        let mut notes = vec![];
        let all = cases(2, &POLICIES, None, &mut notes).unwrap();
        assert_eq!((all.len(), notes.len()), (Algorithm::ALL.len() * POLICIES.len() * 2, 0));
        let odd = cases(3, &QUICK_POLICIES, None, &mut notes).unwrap();
        assert!(odd.iter().all(|case| case.kind != Algorithm::Butterfly) && notes.iter().any(|note| note.contains("butterfly")));
    }
}
