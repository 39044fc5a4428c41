//! What the repetitions of a row come to, waiter by waiter: how far from the best, and at what price; and
//! each waiter over many rows.
//!
//! A row has three yardsticks. The best peer: the best median of a peer. The oracle: the best median of a
//! peer or a fixed policy, as if it had been known beforehand which of them to take. The strict one: the best
//! single run of those, luck included.
use super::waiters::Waiter;
use crate::matrix::Runs;
use foregather_bench::CellResult;
use foregather_machine::Nanos;
use foregather_results::geomean_and_worst;
use foregather_results::row::{LoadClass, Row, SUBSETS, Subset};
use foregather_results::{Distribution, Measurement};

/// A waiter in the row.
struct WaiterFigures<'a> {
    waiter: &'a Waiter,
    runs: &'a Runs<CellResult>,
    /// Episodes a second, of every repetition.
    rates: Vec<f64>,
    median: f64,
}

impl WaiterFigures<'_> {
    /// The median of a figure of the runs; not a number if none has it.
    fn figure(&self, of: impl Fn(&CellResult) -> Option<f64>) -> f64 {
        median(&self.runs.results.iter().filter_map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    fn cpu_us(&self) -> f64 {
        self.figure(|run| Some(run.cpu_us_per_episode()))
    }
}

/// What the others are held against; what there is not, is not a number.
struct Yardsticks {
    best_peer: f64,
    oracle: f64,
    oracle_name: Option<String>,
    oracle_cpu_us: f64,
    best_run: f64,
    /// Of all waiters.
    best: f64,
}

impl Yardsticks {
    fn of(all: &[WaiterFigures<'_>]) -> Self {
        let yardsticks = || all.iter().filter(|seen| seen.waiter.yardstick);
        let oracle = yardsticks().max_by(|a, b| a.median.total_cmp(&b.median));
        Self {
            best_peer: all.iter().filter(|seen| !seen.waiter.ours).map(|seen| seen.median).fold(f64::NAN, f64::max),
            oracle: oracle.map_or(f64::NAN, |seen| seen.median),
            oracle_name: oracle.map(|seen| seen.waiter.name.clone()),
            oracle_cpu_us: oracle.map_or(f64::NAN, WaiterFigures::cpu_us),
            best: all.iter().map(|seen| seen.median).fold(f64::NAN, f64::max),
            best_run: yardsticks().flat_map(|seen| &seen.rates).copied().fold(f64::NAN, f64::max),
        }
    }
}

/// The measurements of one row. A collapsed cell is counted as if it had passed one barrier in all its time,
/// `bound`.
pub fn row(row: &Row, waiters: &[Waiter], runs: &[Runs<CellResult>], bound: Nanos) -> Vec<Measurement> {
    let floor = 1.0 / bound.as_secs();
    let rates = |runs: &Runs<CellResult>| -> Vec<f64> {
        let measured = runs.results.iter().map(CellResult::episodes_per_s);
        measured.chain((0..runs.collapsed).map(|_| floor)).collect()
    };
    let all = waiters.iter().zip(runs).map(|(waiter, runs)| (waiter, runs, rates(runs)));
    let all: Vec<WaiterFigures<'_>> =
        all.filter_map(|(waiter, runs, rates)| Some(WaiterFigures { waiter, runs, median: median(&rates)?, rates })).collect();
    let yardsticks = Yardsticks::of(&all);
    all.iter().map(|seen| counted(measurement(row, seen, &yardsticks), seen)).collect()
}

fn measurement(row: &Row, seen: &WaiterFigures<'_>, yardsticks: &Yardsticks) -> Measurement {
    let (name, waiter) = (row.name(), seen.waiter);
    let id = format!("barriers/{name}/{}", waiter.name);
    let of = |of: fn(&CellResult) -> f64| seen.figure(|run| Some(of(run)));
    let measured = Measurement::from_values(id, "episodes passed", "episodes/s", seen.rates.clone())
        .label("row", name)
        .label("class", row.class().name())
        .label("waiter", &waiter.name)
        .label("kind", if waiter.ours { "ours" } else { "peer" });
    match &yardsticks.oracle_name {
        Some(oracle) => measured.label("oracle", oracle),
        None => measured,
    }
    .figure("regret", yardsticks.best / seen.median)
    .figure("share", seen.median / yardsticks.best_peer)
    .figure("oracle_share", seen.median / yardsticks.oracle)
    .figure("strict_share", seen.median / yardsticks.best_run)
    .figure("us_per_episode", 1e6 / seen.median)
    .figure("cpu_us_per_episode", seen.cpu_us())
    .figure("cpu_over_oracle", seen.cpu_us() / yardsticks.oracle_cpu_us)
    .figure("p50_us", of(|run| run.p50_ns as f64 / 1e3))
    .figure("p99_us", of(|run| run.p99_ns as f64 / 1e3))
    .figure("max_us", of(|run| run.max_ns as f64 / 1e3))
    .figure("exit_skew_p50_ns", seen.figure(|run| run.exit_skew_p50_ns.map(|ns| ns as f64)))
    .figure("exit_skew_p99_ns", seen.figure(|run| run.exit_skew_p99_ns.map(|ns| ns as f64)))
    .figure("stacked", of(|run| run.stacked))
    .figure("switches_per_episode", of(CellResult::switches_per_episode))
    .figure("collapsed_runs", f64::from(seen.runs.collapsed))
}

/// The same with what waiters know that count: how waits ended, and which rules acted how often in a thousand
/// episodes.
fn counted(measurement: Measurement, seen: &WaiterFigures<'_>) -> Measurement {
    let often = |of: fn(&CellResult) -> Option<u64>| seen.figure(|run| Some(of(run)? as f64 * 1e3 / run.episodes.max(1) as f64));
    let mut told = measurement
        .figure("ssr", seen.figure(|run| run.ssr))
        .figure("spun_share", seen.figure(|run| run.outcome_share(2)))
        .figure("yielded_share", seen.figure(|run| run.outcome_share(3)))
        .figure("parked_share", seen.figure(|run| run.outcome_share(4)))
        .figure("moves_per_1000", often(|run| run.moves))
        .figure("pulls_per_1000", often(|run| run.pulls))
        .figure("scouted_per_1000", often(|run| run.scouted));
    let rules = seen.runs.results.iter().find_map(|run| run.rules.as_ref());
    for rule in rules.into_iter().flat_map(|rules| rules.keys()) {
        let per_1000 = |run: &CellResult| {
            let count = run.rules.as_ref()?.get(rule).copied().unwrap_or(0);
            Some(count as f64 * 1e3 / run.episodes.max(1) as f64)
        };
        told = told.figure(&format!("rule_{rule}_per_1000"), seen.figure(per_1000));
    }
    told
}

/// The median; `None` of nothing.
fn median(values: &[f64]) -> Option<f64> {
    Distribution::of_values(values).map(|all| all.quantile(0.5))
}

/// What is averaged, and whether more of it is better.
const AVERAGED: [(&str, bool); 4] = [("share", true), ("oracle_share", true), ("strict_share", true), ("cpu_over_oracle", false)];

/// One measurement for each subset that has rows and each waiter in it.
pub fn summaries(cells: &[Measurement]) -> Vec<Measurement> {
    let mut waiters: Vec<&str> = Vec::new();
    for waiter in cells.iter().filter_map(|cell| cell.labels.get("waiter")) {
        if !waiters.contains(&waiter.as_str()) {
            waiters.push(waiter);
        }
    }
    // A subset of the same rows as one before would only say the same again.
    let classes: Vec<LoadClass> = cells.iter().filter_map(|cell| LoadClass::named(cell.labels.get("class")?)).collect();
    let same = |one: &Subset, other: &Subset| classes.iter().all(|&class| one.1(class) == other.1(class));
    let adds = |(at, subset): &(usize, &Subset)| !SUBSETS[..*at].iter().any(|earlier| same(earlier, subset));
    let subsets = SUBSETS.iter().enumerate().filter(adds).map(|(_, subset)| subset);
    subsets.flat_map(|subset| waiters.iter().filter_map(|waiter| summary(cells, subset, waiter))).collect()
}

fn summary(cells: &[Measurement], (subset, holds): &Subset, waiter: &str) -> Option<Measurement> {
    let mine = |cell: &&Measurement| cell.text("waiter") == waiter && LoadClass::named(cell.text("class")).is_some_and(holds);
    let mine: Vec<&Measurement> = cells.iter().filter(mine).collect();
    let values = |name: &str| mine.iter().filter_map(|cell| cell.figures.get(name).copied()).collect::<Vec<f64>>();
    let shares = values("oracle_share");
    let below_half = shares.iter().filter(|&&share| share < 0.5).count();
    if shares.is_empty() {
        return None;
    }
    let id = format!("barriers-summary/{subset}/{waiter}");
    let summary = Measurement::from_values(id, "episodes/s over the oracle's, row by row", "share", shares)
        .label("subset", *subset)
        .label("kind", mine[0].text("kind"))
        .label("name", waiter)
        .figure("rows_below_half", below_half as f64);
    let with = |summary: Measurement, (name, more): &(&str, bool)| match geomean_and_worst(&values(name), *more) {
        Some((geomean, worst)) => summary.figure(&format!("{name}_geomean"), geomean).figure(&format!("{name}_worst"), worst),
        None => summary,
    };
    Some(AVERAGED.iter().fold(summary, with))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::{rows::rows, waiters::own};
    use crate::options::BarriersOptions;
    use foregather_machine::Costs;
    use std::collections::BTreeMap;

    /// One run a rate; processor time is twice the time.
    fn runs(rates: &[u64]) -> Runs<CellResult> {
        let run = |&episodes| CellResult { episodes, wall_ns: 1_000_000_000, cpu_ns: 2_000_000_000, ..CellResult::default() };
        Runs { results: rates.iter().map(run).collect(), collapsed: 0 }
    }

    fn figures(waiters: &[Waiter], runs: &[Runs<CellResult>]) -> Vec<BTreeMap<String, f64>> {
        let a_row = &rows(&BarriersOptions::default()).0[0];
        row(a_row, waiters, runs, Nanos::from_ms(1_000)).into_iter().map(|m| m.figures).collect()
    }

    fn waiters() -> Vec<Waiter> {
        let mine = |name| own(name, &Costs::TYPICAL).unwrap();
        let peer = Waiter { ours: false, ..mine("central/block") };
        vec![mine("central/recent:local"), mine("central/spin"), peer]
    }

    #[test]
    fn each_yardstick_is_the_best_of_those_it_is_made_of() {
        let found = figures(&waiters(), &[runs(&[500, 600, 700]), runs(&[100, 400, 900]), runs(&[200, 300, 350])]);
        let of = |name: &str| found.iter().map(|figures| figures[name]).collect::<Vec<_>>();
        assert_eq!(of("share"), [2.0, 1.33333, 1.0], "of the peer");
        assert_eq!(of("regret"), [1.0, 1.5, 2.0], "of any waiter");
        assert_eq!(of("oracle_share"), [1.5, 1.0, 0.75], "of the fixed policy, though the one that chooses is faster");
        assert_eq!(of("strict_share"), [0.666667, 0.444444, 0.333333], "of one lucky run");
        assert_eq!(of("cpu_over_oracle"), [0.666667, 1.0, 1.33333]);
    }

    #[test]
    fn a_collapsed_run_counts_and_what_was_not_measured_does_not() {
        let mut collapsed = runs(&[]);
        collapsed.collapsed = 3;
        let found = figures(&waiters(), &[runs(&[]), collapsed, runs(&[200])]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0]["oracle_share"], found[0]["collapsed_runs"]), (0.005, 3.0));
        assert!(!found[0].contains_key("cpu_over_oracle") && found[1]["oracle_share"] == 1.0);
    }

    #[test]
    fn rules_are_told_by_how_often_they_act() {
        let mut counting = runs(&[500, 1_000]);
        for (run, count) in counting.results.iter_mut().zip([5, 30]) {
            (run.rules, run.pulls) = (Some([("yield".to_owned(), count)].into()), Some(count));
        }
        let found = figures(&waiters()[..1], &[counting]);
        assert_eq!((found[0]["rule_yield_per_1000"], found[0]["pulls_per_1000"]), (20.0, 20.0));
        assert!(!found[0].contains_key("oracle_share") && !found[0].contains_key("moves_per_1000"));
    }

    fn cell(row: &str, class: &str, waiter: &str, share: f64) -> Measurement {
        Measurement::from_values(format!("{row}/{waiter}"), "", "", vec![1.0])
            .label("class", class)
            .label("waiter", waiter)
            .label("kind", "ours")
            .figure("oracle_share", share)
            .figure("cpu_over_oracle", 1.0 / share)
    }

    #[test]
    fn every_subset_averages_its_own_rows() {
        let cells = [
            cell("a", "2 free", "one", 0.5),
            cell("b", "hogs", "one", 2.0),
            cell("c", "shapes", "one", 0.125),
            cell("d", "quota", "one", 3.0),
            cell("a", "2 free", "two", 1.0),
        ];
        let found = summaries(&cells);
        let ids: Vec<&str> = found.iter().map(|m| m.id.as_str()).collect();
        let expected = ["core/one", "core/two", "extended/one", "extended/two", "quota/one"];
        assert_eq!(ids, expected.map(|id| format!("barriers-summary/{id}")));
        let figure = |at: usize, name: &str| found[at].figures[name];
        assert_eq!((figure(0, "oracle_share_geomean"), figure(0, "oracle_share_worst")), (1.0, 0.5));
        assert_eq!((figure(2, "oracle_share_geomean"), figure(2, "oracle_share_worst")), (0.5, 0.125));
        assert_eq!((figure(2, "cpu_over_oracle_worst"), figure(2, "rows_below_half")), (8.0, 1.0));
        assert!(!found[0].figures.contains_key("share_geomean"), "no cell has that figure");
        assert!(summaries(&cells[..2]).iter().all(|m| m.labels["subset"] == "core"), "nothing to extend it by");
    }
}
