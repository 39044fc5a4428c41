//! What was found, as measurements and as tables.
use super::Row;
use foregather_bench::blas::BlasResult;
use foregather_cli::BlasPart;
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;

/// What ids of calls over the size begin with.
pub const SIZES: &str = "blas/";
/// Of calls after pauses.
pub const GAPS: &str = "blas-gaps/";
/// Of calls beside hogs.
pub const COLLAPSE: &str = "blas-collapse/";
/// Of crossovers.
pub const CROSSOVERS: &str = "blas-crossovers/";

/// One cell.
pub(super) fn one(row: Row, threads: u32, runner: &str, result: &BlasResult) -> Measurement {
    let Row { part, routine, n, gap_us, hogs } = row;
    let name = routine.name();
    let id = match part {
        BlasPart::Sizes => format!("{SIZES}{name}/{n}/{runner}"),
        BlasPart::Gaps => format!("{GAPS}{name}/{n}/{}ms/{runner}", gap_us / 1_000),
        BlasPart::Collapse => format!("{COLLAPSE}{hogs}h/{runner}"),
    };
    let us = |ns: f64| ns / 1e3;
    let BlasResult { alone, shared, .. } = result;
    Measurement::from_values(id, "a call, shared if the library thinks it worth while; the median", "us", vec![us(shared.p50_ns)])
        .label("routine", name)
        .label("n", n.to_string())
        .label("gap_ms", (gap_us / 1_000).to_string())
        .label("hogs", hogs.to_string())
        .label("threads", threads.to_string())
        .label("runner", runner)
        .figure("ratio", result.ratio)
        .figure("ratio_low", result.ratio_low)
        .figure("pairs", result.pairs as f64)
        .figure("alone_us", us(alone.p50_ns))
        .figure("alone_mean_us", us(alone.mean_ns))
        .figure("mean_us", us(shared.mean_ns))
        .figure("p99_us", us(shared.p99_ns))
        .figure("alone_cpu_us", us(alone.cpu_ns))
        .figure("cpu_us", us(shared.cpu_ns))
        .figure("alone_gflops", routine.flops(n) / alone.p50_ns)
        .figure("gflops", routine.flops(n) / shared.p50_ns)
}

const COLUMNS: [(&str, &str); 9] = [
    ("alone us", "alone_us"),
    ("GF/s", "gflops"),
    ("x alone", "ratio"),
    ("at least", "ratio_low"),
    ("mean us", "mean_us"),
    ("p99 us", "p99_us"),
    ("cpu us", "cpu_us"),
    ("alone", "alone_cpu_us"),
    ("x calm", "slowdown"),
];

/// All parts, one below the other.
pub fn text(all: &[Measurement]) -> String {
    let parts = [SIZES, GAPS, COLLAPSE].map(|part| calls(all, part)).into_iter().chain([crossovers(all)]);
    parts.flatten().map(|table| table.to_text()).collect::<Vec<_>>().join("\n")
}

/// How many times longer a call takes on average than the same runner's without hogs.
pub fn slowdown(all: &[Measurement], m: &Measurement) -> Option<f64> {
    let same = |name: &str, other: &Measurement| other.labels.get(name) == m.labels.get(name);
    let calm = |other: &&Measurement| {
        other.id.starts_with(COLLAPSE) && same("runner", other) && other.labels.get("hogs").is_some_and(|hogs| hogs == "0")
    };
    let calm = all.iter().find(calm)?;
    Some(m.figures.get("mean_us")? / calm.figures.get("mean_us")?)
}

fn calls(all: &[Measurement], part: &str) -> Option<ResultTable> {
    let heads = ["routine", "n", "gap ms", "hogs", "runner", "us"].into_iter().chain(COLUMNS.map(|(heading, _)| heading));
    let mut table = ResultTable::new(heads);
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| digits(value, 3));
    for m in all.iter().filter(|m| m.id.starts_with(part)) {
        let label = |name: &str| m.labels.get(name).cloned().unwrap_or_default();
        let mut row: Vec<String> = ["routine", "n", "gap_ms", "hogs", "runner"].map(label).into();
        row.push(shown(m.summary.p50));
        let slower = if part == COLLAPSE { slowdown(all, m) } else { None };
        row.extend(COLUMNS.map(|(_, name)| shown(m.figures.get(name).copied().or(slower.filter(|_| name == "slowdown")))));
        table.rows.push(row);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn crossovers(all: &[Measurement]) -> Option<ResultTable> {
    let mut table = ResultTable::new(["routine", "shared from", "after a pause from"]);
    let warm = all.iter().filter(|m| m.id.starts_with(CROSSOVERS) && m.labels.get("after").is_some_and(|after| after == "warm"));
    for m in warm {
        let routine = m.labels.get("routine").cloned().unwrap_or_default();
        let cold = all.iter().find(|other| other.id == format!("{CROSSOVERS}{routine}/cold"));
        let n = |m: Option<&Measurement>| m.and_then(|m| m.summary.p50).map_or_else(|| "never".to_owned(), |n| format!("{n:.0}"));
        table.rows.push(vec![routine, n(Some(m)), n(cold)]);
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_bench::blas::{Routine, SideResult};

    fn cell(hogs: u32, mean_ns: f64) -> Measurement {
        let row = Row { part: BlasPart::Collapse, routine: Routine::Dgemm, n: 100, gap_us: 0, hogs };
        let side = |ns| SideResult { p50_ns: ns, mean_ns: ns, p99_ns: ns, cpu_ns: ns };
        let result =
            BlasResult { pairs: 30, batch: 1, alone: side(200_000.0), shared: side(mean_ns), ratio: 2.0, ratio_low: 1.9 };
        one(row, 2, "foregather", &result)
    }

    #[test]
    fn calls_beside_hogs_are_held_against_the_same_without_them() {
        let all = [cell(0, 100_000.0), cell(2, 250_000.0)];
        assert_eq!(all[1].id, "blas-collapse/2h/foregather");
        assert_eq!((all[0].figures["alone_gflops"], all[0].figures["gflops"]), (10.0, 20.0));
        assert_eq!(slowdown(&all, &all[1]), Some(2.5));
        let text = text(&all);
        assert!(text.lines().count() == 3 && text.contains("2.5"), "{text}");
    }
}
