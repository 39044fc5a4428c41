//! Every barrier twice over: what it costs, and how unevenly its members leave it; and what was predicted:
//! the cost of the same source in a simulated network with this machine's LogGP parameters.
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::SkewOptions;
use crate::{Experiment, Measured};
use anyhow::Result;
use foregather_barrier::{Algorithm, SignalCost};
use foregather_bench::prices::Price;
use foregather_bench::skew::{self, Release, Series, Setup};
use foregather_bench::{loggp, skew::Episode};
use foregather_host::{affinity, clock};
use foregather_machine::{LogGp, Nanos, SplitMix};
use foregather_results::layers;
use foregather_results::number::digits;
use foregather_results::table::Shows::{By, Figure, Label, Median, P90};
use foregather_results::table::{Heading, ResultTable, texts, three_digits};
use foregather_results::{Distribution, Measurement, Results};
use foregather_sim::event::Heap;
use foregather_sim::net::Network;
use foregather_wait::Policy;

/// Members come spread over this time: longer than any spinning barrier takes.
pub const ENTRY_SKEW: Nanos = Nanos(1_700);
/// The policies whose costs are measured, and those for `--quick`.
const POLICIES: [&str; 3] = ["spin", "block", "two-phase:2CS+:remote"];
const QUICK_POLICIES: [&str; 2] = ["spin", "block"];
/// All series together take no longer, however busy the machine is; idle, they take a tenth.
const TIME: Nanos = Nanos::from_ms(34_000);
const QUICK_TIME: Nanos = Nanos::from_ms(8_000);
/// Episodes that are simulated, each with other times at which members come.
const EPISODES: u64 = 101;
const PARAMETERS: [Heading; 5] = [
    ("LogGP", Label("parameter")),
    ("p50", Median),
    ("p90", P90),
    ("unit", By(|m| m.unit.clone())),
    ("what", By(|m| m.what.clone())),
];
const CASES: [Heading; 15] = [
    ("layer", Figure("layer")),
    ("barrier", Label("kind")),
    ("policy", Label("policy")),
    ("release", Label("release")),
    ("cost us", By(|m| three_digits(m.median()))),
    ("predicted", Figure("predicted_us")),
    ("ratio", Figure("measured_over_predicted")),
    ("skew p50 ns", Figure("exit_skew_p50_ns")),
    ("p90", Figure("exit_skew_p90_ns")),
    ("p99", Figure("exit_skew_p99_ns")),
    ("met %", Figure("met_percent")),
    ("met p50", Figure("met_exit_skew_p50_ns")),
    ("met p99", Figure("met_exit_skew_p99_ns")),
    ("slack us", Figure("slack_us")),
    ("cpu us", Figure("cpu_us_per_episode")),
];

/// One barrier, one policy, one release: all repetitions.
struct Case {
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

impl Experiment for SkewOptions {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let (policies, usual) = if self.quick { (QUICK_POLICIES.as_slice(), 3) } else { (POLICIES.as_slice(), 7) };
        let mut notes: Vec<String> = vec![offset()];
        let mut parameters = Parameters::default();
        parameters.measure(&mut notes);
        let mut cases = cases(self.threads, policies, parameters.all.first(), &mut notes)?;
        let repetitions = self.repetitions.unwrap_or(usual);
        let at_most = Nanos(if self.quick { QUICK_TIME } else { TIME }.0 / (cases.len() as u64 * u64::from(usual)));
        let matrix = CellLoop::new("skew", cases.len(), repetitions, TurnOrder::Random(self.seed), quiet);
        let name = |case: &Case| format!("{} {} {}", case.kind.name(), case.policy_name, case.release.name());
        let runs = matrix.all_or_none().row(BackgroundOfRow::default(), &cases, name, |case, turn| {
            // Where the host runs two virtual processors, and so what a line costs, changes from moment to
            // moment.
            if !parameters.all.is_empty() && parameters.all.len() <= turn.repetition as usize {
                parameters.measure(&mut notes);
            }
            Ok(Some(skew::run(&setup(self, case, at_most, turn.seed))?))
        })?;
        cases.iter_mut().zip(runs).for_each(|(case, runs)| case.series = runs.results);
        let (cpus, mut all) = (affinity::allowed().len(), parameters.measurements());
        let found = measurements(&cases, |case, repetition| {
            // Only a spinner's releases are messages and nothing else, and only if it has a processor of its
            // own.
            let spins = case.policy == Policy::Spin && case.release == Release::Plain && self.threads as usize <= cpus;
            predict(case.kind, self.threads, parameters.all.get(repetition).filter(|_| spins)?)
        });
        all.extend(found.into_iter().map(|m| m.label("threads", self.threads.to_string())));
        Ok(Measured { measurements: all, notes, ..Measured::default() })
    }

    fn text(&self, results: &Results) -> String {
        table(&results.measurements)
    }
}

fn setup(options: &SkewOptions, case: &Case, at_most: Nanos, seed: u64) -> Setup {
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

/// All cases that can be run with `threads` members. RDS waits by what a hop costs here.
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

/// The median cost of one episode, from the last member's arrival to the last one's exit, when members come
/// as they do in the measurement. `None` for the central barrier, which has no messages, and for sizes that
/// the barrier does not take.
fn predict(kind: Algorithm, size: u32, loggp: &LogGp) -> Option<Nanos> {
    let mut costs = (0..EPISODES).map(|seed| episode(kind, size, loggp, seed)).collect::<Option<Vec<_>>>()?;
    costs.sort_unstable();
    costs.get(costs.len() / 2).copied()
}

fn episode(kind: Algorithm, size: u32, loggp: &LogGp, seed: u64) -> Option<Nanos> {
    kind.takes(size).ok()?;
    let mut random = SplitMix(seed);
    let starts: Vec<Nanos> = (0..size).map(|_| Nanos(random.below(ENTRY_SKEW.0))).collect();
    let network = Network::<Heap>::new(size, kind.slots(size), *loggp).ok()?;
    let nodes = network.nodes();
    let run = network.run(&nodes, |rank| starts[rank as usize], |node| kind.over(node));
    let left = run.outputs.iter().all(|end| matches!(end, Some(Ok(()))));
    left.then(|| run.finished.iter().max().copied().unwrap_or_default() - starts.into_iter().max().unwrap_or_default())
}

/// One measurement a case: its cost, repetition by repetition, and everything else beside it.
fn measurements(cases: &[Case], predicted: impl Fn(&Case, usize) -> Option<Nanos>) -> Vec<Measurement> {
    let ran: Vec<&Case> = cases.iter().filter(|case| case.episodes().next().is_some()).collect();
    let all: Vec<Measurement> = ran.into_iter().map(|case| measurement(case, |repetition| predicted(case, repetition))).collect();
    let layers = layers(&all.iter().map(|m| (m.median(), m.number("exit_skew_p50_ns"))).collect::<Vec<_>>());
    let mut ranked: Vec<_> = all.into_iter().zip(layers).map(|(m, layer)| m.figure("layer", f64::from(layer))).collect();
    ranked.sort_by(|a, b| {
        let cost = |m: &Measurement| m.summary.p50.unwrap_or(0.0);
        a.number("layer").total_cmp(&b.number("layer")).then(cost(a).total_cmp(&cost(b)))
    });
    ranked
}

fn measurement(case: &Case, predicted: impl Fn(usize) -> Option<Nanos>) -> Measurement {
    let cost_us = |series: &Series| quantile(series.episodes.iter().map(|e| e.cost), 0.5) / 1e3;
    let costs: Vec<f64> = case.series.iter().map(cost_us).collect();
    // Each repetition beside the prediction from the parameters of its own moment.
    let both = |(repetition, series): (usize, &Series)| Some((predicted(repetition)?.as_us(), cost_us(series)));
    let beside: Vec<(f64, f64)> = case.series.iter().enumerate().filter_map(both).collect();
    let median = |values: Vec<f64>| Distribution::quantile_of(values, 0.5);
    let (kind, policy, release) = (case.kind.name(), case.policy_name, case.release.name());
    let what = "from the last member's arrival to the last one's exit";
    let all = Measurement::from_values(format!("skew/{kind}/{policy}/{release}"), what, "us", costs)
        .label("kind", kind)
        .label("policy", policy)
        .label("release", release);
    let any = |q| quantile(case.episodes().map(|e| e.skew), q);
    let met = |q| quantile(case.episodes().filter(|e| e.met).map(|e| e.skew), q);
    let episodes = case.episodes().count() as f64;
    let cpu: f64 = case.series.iter().map(|series| series.cpu.as_us()).sum();
    let all = all
        .figure("exit_skew_p50_ns", any(0.5))
        .figure("exit_skew_p90_ns", any(0.9))
        .figure("exit_skew_p99_ns", any(0.99))
        .figure("cpu_us_per_episode", cpu / episodes)
        .figure("predicted_us", median(beside.iter().map(|(predicted, _)| *predicted).collect()))
        .figure("measured_over_predicted", median(beside.iter().map(|(predicted, measured)| measured / predicted).collect()))
        .figure("episodes", episodes);
    if case.release == Release::Plain {
        return all;
    }
    let slack = case.series.iter().map(|series| series.slack).max().unwrap_or_default();
    all.figure("met_exit_skew_p50_ns", met(0.5))
        .figure("met_exit_skew_p99_ns", met(0.99))
        .figure("met_percent", case.episodes().filter(|e| e.met).count() as f64 * 100.0 / episodes)
        .figure("slack_us", slack.as_us())
}

fn quantile(spans: impl Iterator<Item = Nanos>, q: f64) -> f64 {
    Distribution::quantile_of(spans.map(|span| span.0 as f64), q)
}

/// The parameters, then every case in the order of the ranking.
fn table(all: &[Measurement]) -> String {
    let four_digits = |value| digits(value, 4);
    let (parameters, cases): (Vec<_>, Vec<_>) = all.iter().partition(|m| m.id.starts_with("loggp/"));
    texts([ResultTable::with(&PARAMETERS, four_digits, parameters), ResultTable::with(&CASES, four_digits, cases)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::LogGpVariant;

    #[test]
    fn every_kind_that_takes_the_team_is_run_in_both_ways() {
        let mut notes = vec![];
        let all = cases(2, &POLICIES, None, &mut notes).unwrap();
        assert_eq!((all.len(), notes.len()), (Algorithm::ALL.len() * POLICIES.len() * 2, 0));
        let odd = cases(3, &QUICK_POLICIES, None, &mut notes).unwrap();
        assert!(odd.iter().all(|case| case.kind != Algorithm::Butterfly) && notes.iter().any(|note| note.contains("butterfly")));
    }

    const MACHINE: LogGp = LogGp {
        latency: Nanos(50),
        send_overhead: Nanos(40),
        receive_overhead: Nanos(30),
        gap: Nanos(40),
        byte_ps: 0,
        variant: LogGpVariant::SenderOnly,
    };

    #[test]
    fn a_butterfly_costs_its_rounds_and_the_others_what_their_messages_do() {
        // The member that comes last finds its partner's message: its own is what the partner waits for.
        assert_eq!(predict(Algorithm::Butterfly, 2, &MACHINE), Some(MACHINE.null()));
        let four = predict(Algorithm::Butterfly, 4, &MACHINE).unwrap();
        assert!(four > MACHINE.null() && four <= MACHINE.null() * 2 + MACHINE.receive_overhead, "{four}");
        assert!(predict(Algorithm::Tree, 4, &MACHINE).unwrap() > MACHINE.null());
    }

    #[test]
    fn what_has_no_messages_or_does_not_take_the_size_is_not_predicted() {
        assert_eq!(predict(Algorithm::Central, 2, &MACHINE), None);
        assert_eq!(predict(Algorithm::Butterfly, 3, &MACHINE), None);
    }

    #[test]
    fn who_is_best_in_something_is_in_front() {
        let points = [(1.0, 9.0), (9.0, 1.0), (5.0, 5.0), (6.0, 6.0), (9.0, 9.0), (1.0, 9.0)];
        assert_eq!(layers(&points), [1, 1, 1, 2, 3, 1]);
        assert!(layers(&[]).is_empty());
        assert_eq!(layers(&[(f64::NAN, 1.0), (2.0, 1.0)]), [2, 1]);
    }
}
