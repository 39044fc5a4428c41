//! The busy loop of Seidel & Davis 1992 (figures 3-9 and 3-10) on every processor of this machine.
use crate::options::NoiseOptions;
use crate::{Experiment, Measured};
use anyhow::Result;
use foregather_bench::noise::{self, Trace};
use foregather_host::affinity;
use foregather_machine::Nanos;
use foregather_results::table::Shows::{Figure, Label};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Distribution, Measurement, Results};

const COLUMNS: [Heading; 10] = [
    ("cpu", Label("cpu")),
    ("loop us", Figure("floor_us")),
    ("interruptions", Figure("interruptions")),
    ("per s", Figure("interruptions_per_s")),
    ("period ms", Figure("period_p50_ms")),
    ("length us", Figure("length_p50_us")),
    ("longest us", Figure("length_max_us")),
    ("stolen %", Figure("stolen_percent")),
    ("slope ns", Figure("slope_ns")),
    ("intercept ns", Figure("intercept_ns")),
];

impl Experiment for NoiseOptions {
    /// Three measurements a processor: all loops, the first of them in their order, and the line of figure
    /// 3-10.
    fn measure(&self, _quiet: bool) -> Result<Measured> {
        let traces = noise::measure(&affinity::allowed(), Nanos((self.seconds * 1e9) as u64))?;
        Ok(Measured { measurements: traces.iter().flat_map(measurements).collect(), ..Measured::default() })
    }

    /// One row a processor.
    fn text(&self, results: &Results) -> String {
        let (loops, others): (Vec<_>, Vec<_>) = results.measurements.iter().partition(|m| m.id.starts_with("noise/loops/"));
        let with_line = |m: &Measurement| {
            let same = others.iter().filter(|other| other.text("cpu") == m.text("cpu"));
            let figures = same.flat_map(|other| other.figures.clone());
            Measurement { figures: figures.chain(m.figures.clone()).collect(), ..m.clone() }
        };
        ResultTable::of(&COLUMNS, &loops.into_iter().map(with_line).collect::<Vec<_>>()).to_text()
    }
}

fn measurements(trace: &Trace) -> [Measurement; 3] {
    let cpu = trace.cpu;
    let id = |what: &str| format!("noise/{what}/cpu {cpu}");
    let lengths: Vec<f64> = trace.interruptions.iter().map(|(_, length)| length.as_us()).collect();
    let middle = |values: Vec<f64>| Distribution::quantile_of(values, 0.5);
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
    let first = Measurement::from_values(id("trace"), "the first loops, in their order", "us", first_us)
        .label("cpu", cpu.to_string())
        .figure("floor_us", trace.floor.as_us())
        .figure("interrupted_above_us", (trace.floor + noise::above(trace.floor)).as_us());
    let (slope_ns, intercept_ns) = trace.line;
    let residuals = trace.points.iter().map(|&(k, ns)| ns - (slope_ns * k + intercept_ns)).collect();
    // Lengths come in turn, from the shortest on in steps of it.
    let lengths = || trace.points.iter().map(|&(k, _)| k);
    let (step, longest) = (lengths().fold(f64::INFINITY, f64::min), lengths().fold(0.0, f64::max));
    let line = Measurement::from_values(id("line"), "k iterations, from the line slope k + intercept", "ns", residuals)
        .label("cpu", cpu.to_string())
        .figure("slope_ns", slope_ns)
        .figure("intercept_ns", intercept_ns)
        .figure("outlier_above_ns", noise::far(&trace.points, trace.line))
        .figure("step_iterations", step)
        .figure("steps", longest / step);
    [all, first, line]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trial_can_be_had_again_from_its_distance_to_the_line() {
        let points: Vec<(f64, f64)> =
            (0..12).map(|trial| f64::from(trial % 3 + 1) * 500.0).map(|k| (k, 0.8 * k + 20.0)).collect();
        let trace = Trace {
            cpu: 1,
            iterations: 9,
            first_ns: vec![20_000, 70_000],
            histogram: vec![(20_000, 1), (70_000, 1)],
            floor: Nanos::from_us(20),
            interruptions: vec![(Nanos::from_us(20), Nanos::from_us(50))],
            watched: Nanos::from_us(90),
            line: (0.8, 10.0),
            points: points.clone(),
        };
        let [_, first, line] = measurements(&trace);
        assert_eq!((first.figures["floor_us"], first.figures["interrupted_above_us"]), (20.0, 21.0));
        let (step, steps) = (line.figures["step_iterations"], line.figures["steps"]);
        assert_eq!((step, steps, line.figures["outlier_above_ns"]), (500.0, 3.0, 40.0));
        let again = |(trial, residual): (usize, &f64)| {
            let k = ((trial as f64 % steps) + 1.0) * step;
            (k, line.figures["slope_ns"] * k + line.figures["intercept_ns"] + residual)
        };
        assert_eq!(line.values.unwrap().iter().enumerate().map(again).collect::<Vec<_>>(), points);
    }
}
