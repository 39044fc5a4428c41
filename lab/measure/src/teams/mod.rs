//! What a fork and a join cost: our team, Rust's scoped threads, rayon and OpenMP, in turn, in processes of
//! their own, with bodies of several lengths and under load. `predict`: the same by the models of their
//! waits.
mod predict;

use crate::matrix::Runs;
use crate::options::{TeamMatrix, Teams};
use crate::peers::{CellRunner, RunnerSet};
use crate::team_rows::{CellSpans, TeamRows, mean_us, or, typical};
use crate::{Experiment, Measured};
use anyhow::Result;
use foregather_bench::CellResult;
use foregather_bench::teams::{RUNNERS, TeamCell};
use foregather_results::ids::TEAMS;
use foregather_results::table::Shows::{Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Measurement, Results};

const THREADS: [u32; 3] = [2, 4, 8];
const BODIES_US: [u32; 3] = [0, 1, 20];
const HOGS: [u32; 3] = [0, 1, 2];
const QUICK: (&[u32], &[u32], &[u32]) = (&[2, 4], &[0, 1], &[0, 2]);
const SPANS: CellSpans = CellSpans { usual: (5, 40), quick: (2, 20) };
const KIND: RunnerSet =
    RunnerSet { own: &RUNNERS, list: "list-teams", without: "rayon and OpenMP are not compared", unknown: "runs no team here" };
/// The runner that does all bodies alone.
const SERIAL: &str = "serial";
const COLUMNS: [Heading; 11] = [
    ("row", Label("row")),
    ("runner", Label("runner")),
    ("mean us", Median),
    ("regret", Figure("regret")),
    ("p50", Figure("p50_us")),
    ("p99", Figure("p99_us")),
    ("max us", Figure("max_us")),
    ("cpu us", Figure("cpu_us_per_region")),
    ("processors", Figure("processors")),
    ("x serial", Figure("speed_up")),
    ("collapsed", Figure("collapsed")),
];

/// One row: a team, what its members compute, and what is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    threads: u32,
    body_us: u32,
    hogs: u32,
}

impl Experiment for Teams {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        if self.predict.is_some() {
            return predict::run(self, quiet);
        }
        let rows = rows(self);
        let mut all = TeamRows::begin("teams", (&self.matrix, rows.len()), (&KIND, &SPANS), quiet)?;
        let (span_ns, iterations_per_us) = (all.span_ns, all.iterations_per_us);
        for row in rows {
            let Row { threads, body_us, hogs } = row;
            let body_ns = u64::from(body_us) * 1_000;
            let cell = |runner| TeamCell { runner, threads, body_ns, span_ns, settle_ns: 0, iterations_per_us };
            let runs = all.row(&row.name(), hogs, cell)?;
            all.keep(measurements(row, &all.runners, &runs));
        }
        all.end()
    }

    fn text(&self, results: &Results) -> String {
        let all = &results.measurements;
        if self.predict.is_some() { predict::text(all) } else { table(all).to_text() }
    }
}

impl Row {
    fn name(self) -> String {
        let Self { threads, body_us, hogs } = self;
        format!("{threads}t, {body_us} us, {hogs} hogs")
    }
}

fn rows(options: &Teams) -> Vec<Row> {
    let Teams { matrix: TeamMatrix { quick, threads, hogs, .. }, bodies, .. } = options;
    let usual = if *quick { QUICK } else { (&THREADS[..], &BODIES_US[..], &HOGS[..]) };
    let (threads, bodies, hogs) = (or(threads, usual.0), or(bodies, usual.1), or(hogs, usual.2));
    let row = |(&threads, &body_us, &hogs)| Row { threads, body_us, hogs };
    let all = threads.iter().flat_map(|t| bodies.iter().flat_map(move |b| hogs.iter().map(move |h| (t, b, h))));
    all.map(row).collect()
}

/// All runners of a row.
fn measurements(row: Row, runners: &[CellRunner], runs: &[Runs<CellResult>]) -> Vec<Measurement> {
    let serial = runners.iter().position(|runner| runner.name == SERIAL).and_then(|at| typical(&runs[at].results, mean_us));
    runners.iter().zip(runs).map(|(runner, runs)| one(row, &runner.name, runs, serial)).collect()
}

fn one(row: Row, runner: &str, runs: &Runs<CellResult>, serial: Option<f64>) -> Measurement {
    let Row { threads, body_us, hogs } = row;
    let values: Vec<f64> = runs.results.iter().map(mean_us).collect();
    let figure = |of: fn(&CellResult) -> f64| typical(&runs.results, of).unwrap_or(f64::NAN);
    let speed_up = serial.zip(typical(&runs.results, mean_us)).map_or(f64::NAN, |(serial, own)| serial / own);
    let id = format!("{TEAMS}{threads}t/{body_us}us/{hogs}h/{runner}");
    Measurement::from_values(id, "one fork and join with its bodies, mean of a cell", "us", values)
        .label("row", row.name())
        .label("threads", threads.to_string())
        .label("body_us", body_us.to_string())
        .label("hogs", hogs.to_string())
        .label("runner", runner)
        .figure("p50_us", figure(|cell| cell.p50_ns as f64 / 1e3))
        .figure("p99_us", figure(|cell| cell.p99_ns as f64 / 1e3))
        .figure("max_us", figure(|cell| cell.max_ns as f64 / 1e3))
        .figure("cpu_us_per_region", figure(CellResult::cpu_us_per_episode))
        .figure("processors", figure(|cell| cell.cpu_ns as f64 / cell.wall_ns.max(1) as f64))
        .figure("speed_up", speed_up)
        .figure("collapsed", f64::from(runs.collapsed))
}

fn table(all: &[Measurement]) -> ResultTable {
    ResultTable::of(&COLUMNS, all.iter().filter(|m| m.id.starts_with(TEAMS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team_rows::with_regrets;

    #[test]
    fn rows_are_all_teams_with_all_bodies_beside_all_hogs() {
        let all = rows(&Teams::default());
        assert_eq!(all.len(), 27);
        assert_eq!(all[26], Row { threads: 8, body_us: 20, hogs: 2 });
        let matrix = |hogs| TeamMatrix { quick: true, threads: vec![3], hogs, ..TeamMatrix::default() };
        let some = rows(&Teams { matrix: matrix(vec![]), bodies: vec![], predict: None });
        assert!(some.len() == 4 && some.iter().all(|row| row.threads == 3), "{some:?}");
        let one = rows(&Teams { matrix: matrix(vec![1]), bodies: vec![7], predict: None });
        assert_eq!(one, [Row { threads: 3, body_us: 7, hogs: 1 }]);
    }

    #[test]
    fn an_unknown_runner_is_said() {
        let error = KIND.runners(Some("team,nobody"), &mut vec![]).err().unwrap().to_string();
        assert!(error.contains("nobody") && error.contains("std-scope"), "{error}");
        let chosen = KIND.runners(Some("serial, team"), &mut vec![]).unwrap();
        assert_eq!(chosen.iter().map(|runner| runner.name.as_str()).collect::<Vec<_>>(), ["team", "serial"]);
    }

    #[test]
    fn a_cell_is_held_against_one_thread_alone() {
        let cell = |episodes| CellResult { episodes, wall_ns: 1_000_000, cpu_ns: 2_000_000, p50_ns: 7, ..CellResult::default() };
        let runs = |all: &[u64]| Runs { results: all.iter().map(|&episodes| cell(episodes)).collect(), collapsed: 0 };
        let (serial, team) = (runs(&[100, 50, 200]), runs(&[400, 400, 400]));
        let of = Row { threads: 2, body_us: 1, hogs: 0 };
        let alone = typical(&serial.results, mean_us);
        assert_eq!(alone, Some(10.0));
        let m = one(of, "team", &team, alone);
        assert_eq!((m.id.as_str(), m.summary.p50), ("teams/2t/1us/0h/team", Some(2.5)));
        assert_eq!((m.figures["speed_up"], m.figures["processors"], m.figures["cpu_us_per_region"]), (4.0, 2.0, 5.0));
        let collapsed = one(of, "other", &Runs { results: vec![], collapsed: 3 }, alone);
        assert_eq!((collapsed.summary.p50, collapsed.figures["collapsed"]), (None, 3.0));
        let [team, none] = &with_regrets(vec![m.clone(), collapsed.clone()])[..] else { panic!("two columns") };
        assert!(team.number("regret") == 1.0 && none.number("regret").is_nan());
        let faster = Measurement::from_values("faster", "", "us", vec![1.0]);
        assert_eq!(with_regrets(vec![m.clone(), faster])[0].number("regret"), 2.5);
        let text = table(&[m, collapsed]).to_text();
        assert!(text.lines().count() == 3 && text.contains("2t, 1 us, 0 hogs"), "{text}");
    }
}
