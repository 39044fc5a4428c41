//! What the constructs of OpenMP cost by this project's runtime and by others, in turn, in processes of their
//! own, alone and beside hogs.
use crate::options::OpenMp;
use crate::peers::RunnerSet;
use crate::team_rows::{CellSpans, TeamRows, mean_us, or, typical};
use crate::{Experiment, Measured};
use anyhow::{Context, Result};
use foregather_bench::CellResult;
use foregather_bench::openmp::{Construct, OpenMpCell};
use foregather_results::ids::OPENMP;
use foregather_results::table::Shows::{Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Measurement, Results};

const THREADS: [u32; 3] = [2, 4, 8];
const HOGS: [u32; 3] = [0, 1, 2];
const QUICK: (&[u32], &[u32]) = (&[2], &[0, 1]);
/// What each member computes.
const BODY_NS: u64 = 1_000;
const SPANS: CellSpans = CellSpans { usual: (5, 60), quick: (2, 20) };
const KIND: RunnerSet =
    RunnerSet { own: &[], list: "list-openmp", without: "no runtime of OpenMP can be measured", unknown: "is no OpenMP runtime" };
const COLUMNS: [Heading; 7] = [
    ("row", Label("row")),
    ("runtime", Label("runner")),
    ("mean us", Median),
    ("regret", Figure("regret")),
    ("p99", Figure("p99_us")),
    ("cpu us", Figure("cpu_us")),
    ("collapsed", Figure("collapsed")),
];

/// One row: a construct, a team, and what is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    construct: Construct,
    threads: u32,
    hogs: u32,
}

impl Experiment for OpenMp {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let rows = rows(self)?;
        let mut all = TeamRows::begin("openmp", (&self.matrix, rows.len()), (&KIND, &SPANS), quiet)?;
        let (span_ns, iterations_per_us) = (all.span_ns, all.iterations_per_us);
        for row in rows {
            let Row { construct, threads, hogs } = row;
            let runs = all.row(&row.name(), hogs, |runtime| OpenMpCell {
                runtime,
                construct,
                threads,
                teams: 1,
                body_ns: BODY_NS,
                span_ns,
                settle_ns: 0,
                iterations_per_us,
            })?;
            let found = all.runners.iter().zip(&runs);
            let found = found.map(|(runner, runs)| one(row, &runner.name, &runs.results, runs.collapsed)).collect();
            all.keep(found);
        }
        all.end()
    }

    fn text(&self, results: &Results) -> String {
        ResultTable::of(&COLUMNS, results.measurements.iter().filter(|m| m.id.starts_with(OPENMP))).to_text()
    }
}

impl Row {
    fn name(self) -> String {
        format!("{}, {}t, {} hogs", self.construct.name(), self.threads, self.hogs)
    }
}

fn rows(options: &OpenMp) -> Result<Vec<Row>> {
    let matrix = &options.matrix;
    let (threads, hogs) = if matrix.quick { QUICK } else { (&THREADS[..], &HOGS[..]) };
    let (threads, hogs) = (or(&matrix.threads, threads), or(&matrix.hogs, hogs));
    let constructs = match &options.constructs {
        None => Construct::ALL.to_vec(),
        Some(names) => names.split(',').map(|name| named(name.trim())).collect::<Result<_>>()?,
    };
    let beside = |construct, threads| hogs.iter().map(move |&hogs| Row { construct, threads, hogs });
    let of = |construct| threads.iter().flat_map(move |&threads| beside(construct, threads));
    Ok(constructs.into_iter().flat_map(of).collect())
}

fn named(name: &str) -> Result<Construct> {
    let known = Construct::ALL.map(Construct::name).join(", ");
    Construct::named(name).with_context(|| format!("--constructs: `{name}` is none of them; there are {known}"))
}

fn one(row: Row, runtime: &str, runs: &[CellResult], collapsed: u32) -> Measurement {
    let Row { construct, threads, hogs } = row;
    let figure = |of: fn(&CellResult) -> f64| typical(runs, of).unwrap_or(f64::NAN);
    let id = format!("{OPENMP}{}/{threads}t/{hogs}h/{runtime}", construct.name());
    Measurement::from_values(
        id,
        "one construct with a microsecond of work, mean of a cell",
        "us",
        runs.iter().map(mean_us).collect(),
    )
    .label("construct", construct.name())
    .label("row", row.name())
    .label("threads", threads.to_string())
    .label("hogs", hogs.to_string())
    .label("runner", runtime)
    .figure("p99_us", figure(|cell| cell.p99_ns as f64 / 1e3))
    .figure("cpu_us", figure(CellResult::cpu_us_per_episode))
    .figure("collapsed", f64::from(collapsed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TeamMatrix;

    #[test]
    fn rows_are_all_constructs_with_all_teams_beside_all_hogs() {
        let of = |quick, threads, constructs: Option<&str>| {
            let matrix = TeamMatrix { quick, threads, ..TeamMatrix::default() };
            rows(&OpenMp { matrix, constructs: constructs.map(str::to_owned) })
        };
        let (all, brief) = (of(false, vec![], None).unwrap(), of(true, vec![3], None).unwrap());
        assert_eq!((all.len(), brief.len()), (117, 26));
        assert_eq!(brief[1], Row { construct: Construct::Region, threads: 3, hogs: 1 });
        let some = of(true, vec![], Some("single, task-tree")).unwrap();
        assert_eq!((some.len(), some[2].construct), (4, Construct::TaskTree));
        let error = of(true, vec![], Some("sinlge")).unwrap_err().to_string();
        assert!(error.contains("`sinlge` is none of them") && error.contains("task-stencil"), "{error}");
    }

    #[test]
    fn a_runtime_that_collapses_has_no_time() {
        let cell = CellResult { episodes: 10, wall_ns: 50_000, p99_ns: 9_000, ..CellResult::default() };
        let row = Row { construct: Construct::Single, threads: 2, hogs: 1 };
        let m = one(row, "gomp", &[cell], 0);
        assert_eq!((m.id.as_str(), m.summary.p50, m.figures["p99_us"]), ("openmp/single/2t/1h/gomp", Some(5.0), 9.0));
        assert_eq!(one(row, "gomp", &[], 5).summary.p50, None);
    }
}
