//! Measures whether it pays to synchronise before a shift on this machine. Seidel & Davis 1992 studied this
//! on a hypercube (Table III) without confirming it; here threads shift around a ring in shared memory.
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::ShiftOptions;
use crate::skew::ENTRY_SKEW;
use crate::{Experiment, Measured};
use anyhow::Result;
use foregather_barrier::{Algorithm, SignalCost};
use foregather_bench::loggp;
use foregather_bench::shift::{self, Series, Setup, ShiftVariant};
use foregather_host::affinity;
use foregather_machine::Nanos;
use foregather_message::{Protocol, Ring};
use foregather_results::table::Shows::{Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Distribution, Measurement, Results};
use foregather_wait::Policy;

/// Teams, if none is asked for.
const TEAMS: [u32; 2] = [2, 4];
/// Lengths of messages, in bytes.
const SIZES: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
/// All series together take no longer, and how often each is measured.
const TIME: (Nanos, u32) = (Nanos::from_ms(17_000), 7);
const QUICK_TIME: (Nanos, u32) = (Nanos::from_ms(3_500), 3);
/// More rounds would tell no more.
const ROUNDS: u32 = 2_000;
const COLUMNS: [Heading; 14] = [
    ("threads", Label("threads")),
    ("policy", Label("policy")),
    ("bytes", Label("bytes")),
    ("way", Label("way")),
    ("cost us", Median),
    ("p10", Figure("cost_p10_us")),
    ("p90", Figure("cost_p90_us")),
    ("p99", Figure("cost_p99_us")),
    ("to long", Figure("ratio_p50")),
    ("p10", Figure("ratio_p10")),
    ("p90", Figure("ratio_p90")),
    ("wins %", Figure("wins_percent")),
    ("cpu us", Figure("cpu_p50_us")),
    ("mean", Figure("cpu_us_per_shift")),
];

/// One team and one length: all repetitions, each with a series for every way.
struct Case {
    threads: u32,
    bytes: usize,
    /// `spin` where every member has a processor, else `block`.
    policy: Policy,
    variants: Vec<ShiftVariant>,
    series: Vec<Vec<Series>>,
}

impl Experiment for ShiftOptions {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let cpus = affinity::allowed();
        let teams = self.threads.map_or(TEAMS.to_vec(), |threads| vec![threads]);
        let mut notes = Vec::new();
        let hop = match loggp::measure() {
            Ok((loggp, _)) => SignalCost { send: loggp.send_overhead, latency: loggp.null() },
            Err(error) => {
                notes.push(format!("RDS does not wait in its last phase, since it is not known what a hop costs here: {error}"));
                SignalCost::ZERO
            }
        };
        let mut cases = Vec::new();
        for threads in teams {
            Ring::of(0, threads)?;
            let policy = if threads as usize <= cpus.len() { Policy::Spin } else { Policy::Block };
            cases.extend(SIZES.map(|bytes| Case {
                threads,
                bytes,
                policy,
                variants: ShiftVariant::all(hop).to_vec(),
                series: vec![],
            }));
        }
        let (time, usual) = if self.quick { QUICK_TIME } else { TIME };
        let repetitions = self.repetitions.unwrap_or(usual);
        let at_most = Nanos(time.0 / (cases.len() as u64 * u64::from(usual)));
        let matrix = CellLoop::new("shift", cases.len(), repetitions, TurnOrder::Random(self.seed), quiet);
        let name = |case: &Case| format!("{} threads, {} bytes", case.threads, case.bytes);
        let runs = matrix.all_or_none().row(BackgroundOfRow::default(), &cases, name, |case, turn| {
            Ok(Some(shift::run(&case.setup(&cpus, at_most, turn.seed))?))
        })?;
        cases.iter_mut().zip(runs).for_each(|(case, runs)| case.series = runs.results);
        cases.retain(|case| !case.series.is_empty());
        notes.extend(answers(&cases));
        Ok(Measured { measurements: cases.iter().flat_map(measurements).collect(), notes, ..Measured::default() })
    }

    fn text(&self, results: &Results) -> String {
        table(&results.measurements).to_text()
    }
}

impl Case {
    fn setup(&self, cpus: &[u32], at_most: Nanos, seed: u64) -> Setup {
        let (policy, threads, bytes, variants) = (self.policy, self.threads, self.bytes, self.variants.clone());
        let cpus = cpus.to_vec();
        Setup { policy, threads, cpus, bytes, variants, entry_skew: ENTRY_SKEW, rounds: ROUNDS, at_most, seed }
    }
}

/// One measurement a way: its cost, repetition by repetition, and beside it how it does against the first
/// way, round by round.
fn measurements(case: &Case) -> Vec<Measurement> {
    (0..case.variants.len()).map(|variant| measurement(case, variant)).collect()
}

fn measurement(case: &Case, variant: usize) -> Measurement {
    let own = || case.series.iter().map(move |series| &series[variant]);
    let costs = own().map(|series| Distribution::quantile_of(us(series), 0.5)).collect();
    let (threads, bytes, name) = (case.threads, case.bytes, case.variants[variant].name());
    let policy = if case.policy == Policy::Spin { "spin" } else { "block" };
    let all = |q| Distribution::quantile_of(own().flat_map(us), q);
    let rounds = own().map(|series| series.costs.len()).sum::<usize>();
    let cpus = || own().flat_map(|series| series.cpus.iter().copied().map(Nanos::as_us));
    let ratios: Vec<f64> = case.series.iter().flat_map(|series| paired(&series[variant], &series[0])).collect();
    let wins = ratios.iter().filter(|&&ratio| ratio < 1.0).count() as f64;
    let ratio = |q| if variant > 0 { Distribution::quantile_of(ratios.iter().copied(), q) } else { f64::NAN };
    let what = "a shift around a ring: from the last member's arrival to the last one's exit";
    Measurement::from_values(format!("shift/{threads}t/{bytes}B/{name}"), what, "us", costs)
        .label("threads", threads.to_string())
        .label("bytes", bytes.to_string())
        .label("policy", policy)
        .label("way", name)
        .figure("cost_p10_us", all(0.1))
        .figure("cost_p90_us", all(0.9))
        .figure("cost_p99_us", all(0.99))
        .figure("ratio_p10", ratio(0.1))
        .figure("ratio_p50", ratio(0.5))
        .figure("ratio_p90", ratio(0.9))
        .figure("wins_percent", if variant > 0 { wins * 100.0 / ratios.len() as f64 } else { f64::NAN })
        .figure("cpu_p50_us", Distribution::quantile_of(cpus(), 0.5))
        .figure("cpu_us_per_shift", cpus().sum::<f64>() / rounds as f64)
        .figure("rounds", rounds as f64)
}

fn us(series: &Series) -> impl Iterator<Item = f64> {
    series.costs.iter().copied().map(Nanos::as_us)
}

/// Round by round, what one way costs for each microsecond of another.
fn paired(variant: &Series, other: &Series) -> impl Iterator<Item = f64> {
    us(variant).zip(us(other)).filter(|(_, other)| *other > 0.0).map(|(variant, other)| variant / other)
}

/// The answers, team by team.
fn answers(cases: &[Case]) -> Vec<String> {
    let mut teams: Vec<u32> = cases.iter().map(|case| case.threads).collect();
    teams.dedup();
    let answers = teams.into_iter().flat_map(|threads| {
        let team: Vec<&Case> = cases.iter().filter(|case| case.threads == threads).collect();
        let question = |before: fn(&ShiftVariant) -> bool, what: &str, protocol, against: &dyn Fn(&ShiftVariant) -> bool| {
            let pays: Vec<(usize, bool)> = team.iter().map(|case| (case.bytes, pays(case, before, protocol, against))).collect();
            format!("{threads} threads: {what} {}", in_words(&pays))
        };
        let alone = |variant: &ShiftVariant| variant.before.is_none();
        let rds_long = |variant: &ShiftVariant| is_rds(variant) && variant.protocol == Protocol::Long;
        [
            question(is_rds, "RDS before a long shift pays", Protocol::Long, &alone),
            question(is_butterfly, "a butterfly before a long shift pays", Protocol::Long, &alone),
            question(is_rds, "RDS and a forced shift beat RDS and a long one", Protocol::Forced, &rds_long),
            question(is_rds, "RDS and a forced shift beat a long one alone", Protocol::Forced, &alone),
        ]
    });
    answers.collect()
}

fn is_rds(variant: &ShiftVariant) -> bool {
    matches!(variant.before, Some(Algorithm::Rds { .. }))
}

fn is_butterfly(variant: &ShiftVariant) -> bool {
    variant.before == Some(Algorithm::Butterfly)
}

/// Returns whether that variant is cheaper in the median round of every repetition.
fn pays(case: &Case, before: fn(&ShiftVariant) -> bool, protocol: Protocol, against: &dyn Fn(&ShiftVariant) -> bool) -> bool {
    let variant = case.variants.iter().position(|variant| before(variant) && variant.protocol == protocol);
    let (Some(variant), Some(other)) = (variant, case.variants.iter().position(against)) else { return false };
    case.series.iter().all(|series| Distribution::quantile_of(paired(&series[variant], &series[other]), 0.5) < 1.0)
}

/// From which length on it pays, if at all: up to the longest, without a gap.
fn in_words(pays: &[(usize, bool)]) -> String {
    let longest = pays.last().map_or(0, |(bytes, _)| *bytes);
    let from = pays.iter().rev().take_while(|(_, pays)| *pays).last();
    match from {
        Some((bytes, _)) if pays.iter().all(|(_, pays)| *pays) => format!("at every length from {bytes} bytes on"),
        Some((bytes, _)) => format!("from {bytes} bytes on, and not at the next shorter length"),
        None if pays.iter().any(|(_, pays)| *pays) => {
            let some: Vec<String> = pays.iter().filter(|(_, pays)| *pays).map(|(bytes, _)| bytes.to_string()).collect();
            format!("at {} bytes only", some.join(", "))
        }
        None => format!("at no length up to {longest} bytes"),
    }
}

/// Every way under its team and length.
fn table(all: &[Measurement]) -> ResultTable {
    ResultTable::of(&COLUMNS, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(bytes: usize, costs: [[u64; 5]; 2]) -> Case {
        let series = |cost: u64| Series { costs: vec![Nanos(cost); 3], cpus: vec![Nanos(9 * cost); 3] };
        let series = costs.map(|costs| costs.map(series).to_vec()).to_vec();
        Case { threads: 2, bytes, policy: Policy::Spin, variants: ShiftVariant::all(SignalCost::ZERO).to_vec(), series }
    }

    #[test]
    fn an_answer_needs_every_repetition_and_every_longer_message() {
        let cases = [
            case(64, [[100, 90, 120, 80, 110], [100, 90, 120, 80, 110]]),
            case(256, [[100, 90, 120, 80, 90], [100, 110, 90, 80, 90]]),
            case(1_024, [[100, 90, 120, 80, 90], [100, 90, 90, 80, 90]]),
        ];
        let said = answers(&cases);
        assert_eq!(said[0], "2 threads: RDS before a long shift pays at no length up to 1024 bytes");
        let only = "2 threads: a butterfly before a long shift pays from 1024 bytes on, and not at the next shorter length";
        assert_eq!(said[1], only);
        assert_eq!(
            said[3],
            "2 threads: RDS and a forced shift beat a long one alone from 256 bytes on, and not at the next shorter length"
        );
        assert_eq!(in_words(&[(64, true), (256, false)]), "at 64 bytes only");
        assert_eq!(in_words(&[(64, true), (256, true)]), "at every length from 64 bytes on");
    }

    #[test]
    fn ratios_are_paired_and_the_first_way_has_none() {
        let all = measurements(&case(64, [[100, 90, 120, 80, 110], [200, 180, 240, 160, 220]]));
        assert_eq!(all[0].figures.get("ratio_p50"), None);
        assert_eq!(all[1].figures["ratio_p50"], 0.9);
        assert_eq!(all[1].figures["wins_percent"], 100.0);
        assert_eq!(all[2].figures["wins_percent"], 0.0);
        assert_eq!((all[3].id.as_str(), all[3].figures["cpu_us_per_shift"]), ("shift/2t/64B/butterfly+forced", 1.08));
        assert_eq!(table(&all).rows.len(), 5);
    }
}
