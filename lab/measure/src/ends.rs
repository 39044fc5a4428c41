//! How long a process that has used our OpenMP runtime takes to end: from its last act until its parent has
//! waited for it, beside busy processes, against the same runtime without scouts. A thread of ours that waits
//! for a processor would hold the process up.
use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop, Runs, TurnOrder};
use crate::options::EndsOptions;
use crate::peers::{BUILD, program};
use crate::regret::ScratchFolder;
use crate::{Experiment, Measured, machine_file};
use anyhow::{Context, Result};
use foregather_bench::openmp::{EndCell, ProcessEnd};
use foregather_host::{clock, costs};
use foregather_machine::Costs;
use foregather_results::table::Shows::{Count, Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Measurement, Results};

/// What ids of these measurements begin with.
pub const ENDS: &str = "ends/";
const HOGS: [u32; 5] = [0, 1, 2, 3, 4];
/// For how long regions run before the end.
const SPAN_NS: u64 = 20_000_000;
/// By how many ticks the median and the worst end may be later than without scouts.
const TICKS: (f64, f64) = (1.0, 3.0);
const COLUMNS: [Heading; 9] = [
    ("end", Label("end")),
    ("hogs", Label("hogs")),
    ("costs", Label("costs")),
    ("column", Label("column")),
    ("n", Count),
    ("ms", Median),
    ("worst", Figure("worst_ms")),
    ("cut off", Figure("collapsed")),
    ("verdict", Label("verdict")),
];

/// One column: with scouts or without, with kept costs or without.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EndColumn {
    scouts: bool,
    kept: bool,
}

const ALL: [EndColumn; 4] = [
    EndColumn { scouts: true, kept: true },
    EndColumn { scouts: false, kept: true },
    EndColumn { scouts: true, kept: false },
    EndColumn { scouts: false, kept: false },
];

impl Experiment for EndsOptions {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let costs = machine_file::load_or_measure()?;
        let program = program().with_context(|| format!("a process of the peers' program is ended: build it by `{BUILD}`"))?;
        let folder = ScratchFolder::new()?;
        let [kept, none] = ["kept.json", "none.json"].map(|name| folder.path().join(name));
        costs::write_once(&kept, costs).with_context(|| format!("cannot write {}", kept.display()))?;
        let hogs = if self.hogs.is_empty() { &HOGS[..] } else { &self.hogs };
        let rows = ProcessEnd::ALL.into_iter().flat_map(|end| hogs.iter().map(move |&hogs| (end, hogs)));
        let cells = ProcessEnd::ALL.len() * hogs.len() * ALL.len();
        let mut matrix = CellLoop::new("ends", cells, self.runs, TurnOrder::Random(self.seed), quiet).all_or_none();
        for (end, hogs) in rows {
            let beside = BackgroundOfRow { hogs, ..BackgroundOfRow::default() };
            let name = |column: &EndColumn| format!("{}, {hogs} hogs: {}", end.name(), column.name());
            let cell = EndCell { end, threads: self.threads, span_ns: SPAN_NS };
            let runs = matrix.row(beside, &ALL, name, |column, _| {
                // A process may keep what it has measured.
                let _ = std::fs::remove_file(&none);
                let machine = if column.kept { &kept } else { &none };
                let process =
                    CellProgram::of_peers(program.clone(), vec![]).with("FOREGATHER_MACHINE", &machine.to_string_lossy());
                let policy = if column.scouts { "adaptive" } else { "adaptive!scout" };
                let ended = process.with("FOREGATHER_WAIT", policy).start(&cell, Within::default())?.end_in_any_way()?;
                Ok(ended.map(|ended| (clock::now().0 as f64 - ended.began_ns as f64) / 1e6))
            })?;
            matrix.found.measurements.extend(judged(end, hogs, &runs, &costs));
        }
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        ResultTable::of(&COLUMNS, results.measurements.iter().filter(|m| m.id.starts_with(ENDS))).to_text()
    }
}

impl EndColumn {
    fn name(self) -> &'static str {
        if self.scouts { "ours" } else { "without scouts" }
    }

    fn costs(self) -> &'static str {
        if self.kept { "kept" } else { "none" }
    }
}

/// The measurements of a row; those with scouts are held against those without.
fn judged(end: ProcessEnd, hogs: u32, runs: &[Runs<f64>], costs: &Costs) -> Vec<Measurement> {
    let all: Vec<Measurement> = ALL.iter().zip(runs).map(|(&column, runs)| one(end, hogs, column, runs)).collect();
    let tick_ms = costs.tick.0 as f64 / 1e6;
    let verdict = |at: usize| {
        let without = ALL.iter().position(|other| *other == EndColumn { scouts: false, ..ALL[at] });
        let (with, without) = (&all[at], &all[without.expect("each column has its counterpart")]);
        let later = with.median() - without.median() <= TICKS.0 * tick_ms;
        let worst = with.number("worst_ms") - without.number("worst_ms") <= TICKS.1 * tick_ms;
        match (later, worst && with.number("collapsed") <= without.number("collapsed")) {
            (true, true) => "met",
            (false, _) => "missed: median",
            (true, false) => "missed: worst",
        }
    };
    let verdicts: Vec<&str> = (0..ALL.len()).map(|at| if ALL[at].scouts { verdict(at) } else { "" }).collect();
    all.iter().zip(verdicts).map(|(m, verdict)| m.clone().label("verdict", verdict)).collect()
}

fn one(end: ProcessEnd, hogs: u32, column: EndColumn, runs: &Runs<f64>) -> Measurement {
    let id = format!("{ENDS}{}/{hogs}h/{}/{}", end.name(), column.costs(), column.name());
    let worst = runs.results.iter().copied().fold(f64::NAN, f64::max);
    Measurement::from_values(id, "from a process's last act until it was waited for", "ms", runs.results.clone())
        .label("end", end.name())
        .label("hogs", hogs.to_string())
        .label("costs", column.costs())
        .label("column", column.name())
        .figure("worst_ms", worst)
        .figure("collapsed", f64::from(runs.collapsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(with: &[f64], without: &[f64]) -> Vec<String> {
        let runs = |ms: &[f64]| Runs { results: ms.to_vec(), collapsed: 0 };
        let runs = [runs(with), runs(without), runs(without), runs(without)];
        // Its tick is 4 ms.
        let costs = Costs { tick: foregather_machine::Nanos::from_ms(4), ..Costs::TYPICAL };
        let all = judged(ProcessEnd::Abort, 2, &runs, &costs);
        assert_eq!(all[1].id, "ends/abort/2h/kept/without scouts");
        all.iter().map(|m| m.text("verdict").to_owned()).collect()
    }

    #[test]
    fn ends_are_held_against_those_without_scouts() {
        let calm = [1.0, 1.0, 2.0];
        assert_eq!(verdicts(&[4.9, 4.9, 13.9], &calm), ["met", "", "met", ""]);
        assert_eq!(verdicts(&[5.1, 5.1, 5.1], &calm)[0], "missed: median");
        assert_eq!(verdicts(&[1.0, 1.0, 14.1], &calm)[0], "missed: worst");
    }
}
