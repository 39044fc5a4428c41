//! What was found, as measurements and as a table.
use super::{Row, Runner, Runs};
use foregather_bench::CellResult;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_results::{Distribution, Measurement};

/// What ids of these measurements begin with.
pub const TEAMS: &str = "teams/";
/// Who does all bodies alone.
const SERIAL: &str = "serial";

/// All runners of a row.
pub(super) fn row(row: Row, runners: &[Runner], runs: &[Runs]) -> Vec<Measurement> {
    let serial = runners.iter().position(|runner| runner.name == SERIAL).and_then(|at| typical(&runs[at], mean_us));
    runners.iter().zip(runs).map(|(runner, runs)| one(row, &runner.name, runs, serial)).collect()
}

fn one(row: Row, runner: &str, runs: &Runs, serial: Option<f64>) -> Measurement {
    let Row { threads, body_us, hogs } = row;
    let values: Vec<f64> = runs.results.iter().map(mean_us).collect();
    let figure = |of: fn(&CellResult) -> f64| typical(runs, of).unwrap_or(f64::NAN);
    let speed_up = serial.zip(typical(runs, mean_us)).map_or(f64::NAN, |(serial, own)| serial / own);
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

fn mean_us(cell: &CellResult) -> f64 {
    cell.wall_ns as f64 / 1e3 / cell.episodes.max(1) as f64
}

/// The median of the repetitions.
fn typical(runs: &Runs, of: impl Fn(&CellResult) -> f64) -> Option<f64> {
    let values: Vec<f64> = runs.results.iter().map(of).collect();
    Distribution::of_values(&values).map(|all| all.quantile(0.5))
}

/// All rows.
pub fn table(all: &[Measurement]) -> ResultTable {
    let figures = [
        ("p50", "p50_us"),
        ("p99", "p99_us"),
        ("max us", "max_us"),
        ("cpu us", "cpu_us_per_region"),
        ("processors", "processors"),
        ("x serial", "speed_up"),
        ("collapsed", "collapsed"),
    ];
    let mut table = ResultTable::new(["row", "runner", "mean us"].into_iter().chain(figures.map(|(heading, _)| heading)));
    for m in all.iter().filter(|m| m.id.starts_with(TEAMS)) {
        let label = |name: &str| m.labels.get(name).cloned().unwrap_or_default();
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| digits(value, 3));
        let mut row = vec![label("row"), label("runner"), shown(m.summary.p50)];
        row.extend(figures.map(|(_, name)| shown(m.figures.get(name).copied())));
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_held_against_one_thread_alone() {
        let cell = |episodes| CellResult { episodes, wall_ns: 1_000_000, cpu_ns: 2_000_000, p50_ns: 7, ..CellResult::default() };
        let runs = |all: &[u64]| Runs { results: all.iter().map(|&episodes| cell(episodes)).collect(), collapsed: 0 };
        let (serial, team) = (runs(&[100, 50, 200]), runs(&[400, 400, 400]));
        let of = Row { threads: 2, body_us: 1, hogs: 0 };
        let alone = typical(&serial, mean_us);
        assert_eq!(alone, Some(10.0));
        let m = one(of, "team", &team, alone);
        assert_eq!((m.id.as_str(), m.summary.p50), ("teams/2t/1us/0h/team", Some(2.5)));
        assert_eq!((m.figures["speed_up"], m.figures["processors"], m.figures["cpu_us_per_region"]), (4.0, 2.0, 5.0));
        let collapsed = one(of, "other", &Runs { results: vec![], collapsed: 3 }, alone);
        assert_eq!((collapsed.summary.p50, collapsed.figures["collapsed"]), (None, 3.0));
        let text = table(&[m, collapsed]).to_text();
        assert!(text.lines().count() == 3 && text.contains("2t, 1 us, 0 hogs"), "{text}");
    }
}
