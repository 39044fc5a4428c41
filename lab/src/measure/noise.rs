//! The busy loop of Seidel & Davis 1992 (figures 3-9 and 3-10) on every processor of this machine.
use crate::cli::Noise;
use crate::results::Measurement;
use crate::results::number::digits;
use crate::results::table::Table;
use anyhow::Result;
use foregather_bench::noise::{self, Trace};
use foregather_host::affinity;
use foregather_machine::Nanos;

/// Three measurements a processor: all loops, the first of them in their order, and the line of figure 3-10.
///
/// # Errors
/// If a processor cannot be watched.
pub fn run(options: &Noise) -> Result<Vec<Measurement>> {
    let span = Nanos((options.seconds * 1e9) as u64);
    let traces = noise::measure(&affinity::allowed(), span)?;
    Ok(traces.iter().flat_map(measurements).collect())
}

fn measurements(trace: &Trace) -> [Measurement; 3] {
    let cpu = trace.cpu;
    let id = |what: &str| format!("noise/{what}/cpu {cpu}");
    let lengths: Vec<f64> = trace.interruptions.iter().map(|(_, length)| length.as_us()).collect();
    let middle = |values: Vec<f64>| Measurement::from_values("", "", "", values).summary.p50.unwrap_or(f64::NAN);
    let longest = lengths.iter().copied().fold(f64::NAN, f64::max);
    let all = Measurement::from_histogram(id("loops"), "one loop of a fixed number of iterations", "ns", trace.histogram.clone())
        .label("cpu", cpu.to_string())
        .figure("iterations", trace.iterations as f64)
        .figure("floor_us", trace.floor.as_us())
        .figure("interruptions", lengths.len() as f64)
        .figure("interruptions_per_s", lengths.len() as f64 / trace.watched.as_secs().max(1e-9))
        .figure("period_p50_ms", middle(trace.periods_ns()) / 1e6)
        .figure("length_p50_us", middle(lengths))
        .figure("length_max_us", longest)
        .figure("stolen_percent", trace.stolen_percent());
    let first_us = trace.first_ns.iter().map(|&ns| ns as f64 / 1e3).collect();
    let first =
        Measurement::from_values(id("trace"), "the first loops, in their order", "us", first_us).label("cpu", cpu.to_string());
    let (slope_ns, intercept_ns) = trace.line;
    let residuals = trace.points.iter().map(|&(k, ns)| ns - (slope_ns * k + intercept_ns)).collect();
    let line = Measurement::from_values(id("line"), "k iterations, from the line slope k + intercept", "ns", residuals)
        .label("cpu", cpu.to_string())
        .figure("slope_ns", slope_ns)
        .figure("intercept_ns", intercept_ns);
    [all, first, line]
}

/// One row a processor.
pub fn table(all: &[Measurement]) -> Table {
    let figures = [
        ("loop us", "floor_us"),
        ("interruptions", "interruptions"),
        ("per s", "interruptions_per_s"),
        ("period ms", "period_p50_ms"),
        ("length us", "length_p50_us"),
        ("longest us", "length_max_us"),
        ("stolen %", "stolen_percent"),
        ("slope ns", "slope_ns"),
        ("intercept ns", "intercept_ns"),
    ];
    let mut table = Table::new(["cpu"].into_iter().chain(figures.map(|(heading, _)| heading)));
    for m in all.iter().filter(|m| m.id.starts_with("noise/loops/")) {
        let cpu = m.labels.get("cpu").cloned().unwrap_or_default();
        let mine = || all.iter().filter(|other| other.labels.get("cpu") == Some(&cpu));
        let figure =
            |name: &str| mine().find_map(|m| m.figures.get(name)).map_or_else(|| "-".to_owned(), |&value| digits(value, 3));
        let mut row = vec![cpu.clone()];
        row.extend(figures.map(|(_, name)| figure(name)));
        table.rows.push(row);
    }
    table
}
