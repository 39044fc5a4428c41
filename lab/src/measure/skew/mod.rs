//! Every barrier twice over: what it costs, and how unevenly its members leave it; and what was predicted.
//!
//! - [`predict`](mod@predict): the cost in a simulated network with this machine's LogGP parameters.
//! - [`front`](mod@front): the ranking on both. [`output`](mod@output): measurements and the table for people.

pub mod front;
pub mod output;
pub mod predict;

use crate::cli::Skew;
use crate::progress::Progress;
use crate::results::Measurement;
use anyhow::Result;
use foregather_barrier::{Hop, Kind};
use foregather_bench::prices::Price;
use foregather_bench::skew::{self, Release, Series, Setup};
use foregather_bench::{loggp, skew::Episode};
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::{LogGp, Nanos, SplitMix};
use foregather_wait::Policy;

/// Members come spread over this time: longer than any spinning barrier takes.
pub const ENTRY_SKEW: Nanos = Nanos(1_700);
/// Whose costs are measured, and for `--quick`.
const POLICIES: [&str; 3] = ["spin", "block", "two-phase:2CS+:remote"];
const QUICK_POLICIES: [&str; 2] = ["spin", "block"];

/// What a run gave.
#[derive(Default)]
pub struct Measured {
    /// Parameters, then series.
    pub measurements: Vec<Measurement>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// One barrier, one policy, one release: all repetitions.
pub struct Case {
    kind: Kind,
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
    let (mut measured, parameters) = parameters();
    measured.notes.extend(offset());
    let policies = if options.quick { QUICK_POLICIES.as_slice() } else { &POLICIES };
    let mut cases = cases(options.threads, policies, parameters.as_ref(), &mut measured.notes)?;
    let repetitions = options.repetitions.unwrap_or(if options.quick { 2 } else { 3 });
    let mut progress = Progress::new("skew", cases.len() * repetitions as usize, quiet);
    let mut random = SplitMix(options.seed);
    for _ in 0..repetitions {
        for i in random.shuffled(cases.len()) {
            let case = &mut cases[i];
            progress.step(&format!("{} {} {}", case.kind.name(), case.policy_name, case.release.name()));
            if !interrupt::requested() {
                case.series.push(skew::run(&setup(options, case, random.next()))?);
            }
        }
    }
    measured.measurements.extend(output::measurements(&cases, |case| {
        let parameters = parameters.as_ref().filter(|_| case.release == Release::Plain)?;
        predict::predict(case.kind, options.threads, parameters)
    }));
    let empty = cases.iter().filter(|case| !interrupt::requested() && case.episodes().next().is_none());
    measured.notes.extend(
        empty.map(|case| {
            format!("{} {} {} passed no barrier in its time", case.kind.name(), case.policy_name, case.release.name())
        }),
    );
    Ok(measured)
}

fn setup(options: &Skew, case: &Case, seed: u64) -> Setup {
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
        at_most: Nanos::from_ms(if options.quick { 90 } else { 180 }),
        seed,
    }
}

/// All that can be run with so many members. RDS waits by what a hop costs here.
fn cases(threads: u32, policies: &[&'static str], loggp: Option<&LogGp>, notes: &mut Vec<String>) -> Result<Vec<Case>> {
    let costs = crate::machine_file::load_or_measure()?;
    let mut cases = Vec::new();
    for kind in Kind::ALL {
        if let Err(error) = kind.takes(threads) {
            notes.push(error.to_string());
            continue;
        }
        let kind = match (kind, loggp) {
            (Kind::Rds { .. }, Some(loggp)) => Kind::Rds { hop: Hop { send: loggp.send_overhead, latency: loggp.null() } },
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

/// This machine's LogGP parameters, as measurements too; without a second processor only a note.
fn parameters() -> (Measured, Option<LogGp>) {
    let (parameters, prices) = match loggp::measure() {
        Ok(found) => found,
        Err(error) => {
            let notes = vec![format!("no LogGP parameters, so nothing is predicted: {error}")];
            return (Measured { notes, ..Measured::default() }, None);
        }
    };
    let named = |name: &str, what: &str, unit: &str, value: f64| {
        Measurement::from_values(format!("loggp/{name}"), what, unit, vec![value]).label("parameter", name)
    };
    let ns = |nanos: Nanos| nanos.0 as f64;
    let mut measurements = vec![
        named("L", "from the end of the sender's overhead to the beginning of the receiver's", "ns", ns(parameters.latency)),
        named("o-send", "overhead of the sender", "ns", ns(parameters.send_overhead)),
        named("o-receive", "overhead of the receiver", "ns", ns(parameters.receive_overhead)),
        named("g", "gap between two messages of one sender", "ns", ns(parameters.gap)),
        named("G", "one byte's share", "ps", parameters.byte_ps as f64),
    ];
    let raw = |price: Price| {
        let name = price.name.trim_end_matches("_ns");
        Measurement::from_values(format!("loggp/raw/{name}"), price.what, "ns", price.samples_ns).label("parameter", name)
    };
    measurements.extend(prices.into_iter().map(raw));
    (Measured { measurements, notes: vec![] }, Some(parameters))
}

/// How far the counters by which the skew was measured may be apart.
fn offset() -> Option<String> {
    let [a, b, ..] = affinity::allowed()[..] else {
        return Some("one processor only: members cannot leave at one moment".into());
    };
    Some(match clock::cross_cpu_offset_bound(a, b) {
        Ok(found) => format!(
            "exit skew is the agreement of two processors' counters, which are {:.0} +- {:.0} ns apart (processors {a} and {b})",
            found.offset_ns, found.bound_ns
        ),
        Err(error) => format!("how far the processors' counters are apart is not known: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_takes_the_team_is_run_in_both_ways() {
        let mut notes = vec![];
        let all = cases(2, &POLICIES, None, &mut notes).unwrap();
        assert_eq!((all.len(), notes.len()), (Kind::ALL.len() * POLICIES.len() * 2, 0));
        let odd = cases(3, &QUICK_POLICIES, None, &mut notes).unwrap();
        assert!(odd.iter().all(|case| case.kind != Kind::Butterfly) && notes.iter().any(|note| note.contains("butterfly")));
    }
}
