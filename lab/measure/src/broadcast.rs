//! What rare messages cost the reader of a queue: how late it has them, and how much of a processor it burns,
//! by this project's queue and by others, in turn.
use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::BroadcastOptions;
use crate::{Experiment, Measured, machine_file};
use anyhow::Result;
use foregather_bench::queues::{Gaps, QueueCell, QueueResult};
use foregather_results::ids::BROADCAST;
use foregather_results::table::Shows::{Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Distribution, Measurement, Results};

/// Mean gaps in microseconds.
const GAPS_US: [u64; 7] = [50, 200, 1_000, 2_000, 5_000, 10_000, 50_000];
const QUICK_GAPS_US: [u64; 2] = [200, 2_000];
/// For how long a cell lasts, within these numbers of messages, and repetitions.
const USUAL: (u64, u32) = (1_000_000, 3);
const QUICK: (u64, u32) = (100_000, 1);
const MESSAGES: (u64, u64) = (40, 2_000);
const COLUMNS: [Heading; 6] = [
    ("gaps", Label("gaps")),
    ("mean us", Label("gap_us")),
    ("queue", Label("queue")),
    ("late us", Median),
    ("p99", Figure("p99_us")),
    ("cpu %", Figure("cpu_percent")),
];

impl Experiment for BroadcastOptions {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        machine_file::load_or_measure()?;
        let ((lasts_us, usual), gaps) = if self.quick { (QUICK, &QUICK_GAPS_US[..]) } else { (USUAL, &GAPS_US[..]) };
        let queues: Vec<&str> = QueueCell::OWN.into_iter().chain(QueueCell::OTHERS).collect();
        let queues: Vec<&str> = match &self.queues {
            Some(asked) => queues.into_iter().filter(|queue| asked.iter().any(|asked| asked == queue)).collect(),
            None => queues,
        };
        let rows: Vec<(Gaps, u64)> = Gaps::ALL.into_iter().flat_map(|kind| gaps.iter().map(move |&gap| (kind, gap))).collect();
        let repetitions = self.repetitions.unwrap_or(usual);
        let mut matrix = CellLoop::new("broadcast", rows.len() * queues.len(), repetitions, TurnOrder::Random(self.seed), quiet);
        let mut missing = Vec::new();
        for (gaps, gap_us) in rows {
            let there: Vec<&str> = queues.iter().copied().filter(|queue| !missing.contains(queue)).collect();
            let name = |queue: &&str| format!("{queue}: {} gaps of {gap_us} us", gaps.name());
            let runs = matrix.row(BackgroundOfRow::default(), &there, name, |queue, turn| {
                let messages = (lasts_us / gap_us).clamp(MESSAGES.0, MESSAGES.1) as u32;
                let cell = QueueCell { queue: (*queue).to_owned(), gap_ns: gap_us * 1_000, gaps, messages, seed: turn.seed };
                CellProgram::default().run_to_end(&cell, Within::default())
            })?;
            for (queue, runs) in there.into_iter().zip(runs) {
                match runs.results.as_slice() {
                    // It is not there: one note is enough.
                    [] => missing.push(queue),
                    results => matrix.found.measurements.push(one(queue, gaps, gap_us, results)),
                }
            }
        }
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        ResultTable::of(&COLUMNS, results.measurements.iter().filter(|m| m.id.starts_with(BROADCAST))).to_text()
    }
}

fn one(queue: &str, gaps: Gaps, gap_us: u64, results: &[QueueResult]) -> Measurement {
    let median = |of: fn(&QueueResult) -> f64| Distribution::quantile_of(results.iter().map(of), 0.5);
    let late = results.iter().map(|result| result.p50_ns as f64 / 1e3).collect();
    let what = "from a message's stamp until its reader has it, the median of a run";
    Measurement::from_values(format!("{BROADCAST}{}/{gap_us}us/{queue}", gaps.name()), what, "us", late)
        .label("queue", queue)
        .label("gaps", gaps.name())
        .label("gap_us", gap_us.to_string())
        .figure("p99_us", median(|result| result.p99_ns as f64 / 1e3))
        .figure("cpu_percent", median(|result| result.cpu_percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_has_the_median_of_runs() {
        let run = |p50_ns| QueueResult { p50_ns, p99_ns: 9_000, cpu_percent: 2.5 };
        let m = one("zmq", Gaps::Regular, 2_000, &[run(5_000), run(7_000), run(6_000)]);
        assert_eq!((m.id.as_str(), m.summary.p50, m.figures["cpu_percent"]), ("broadcast/regular/2000us/zmq", Some(6.0), 2.5));
        assert_eq!((m.labels["gap_us"].as_str(), m.figures["p99_us"]), ("2000", 9.0));
    }
}
