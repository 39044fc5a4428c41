//! The results of a plan: one measurement a point, and a table of the figure for readers.
use super::metric::{Metric, Seen, View};
use super::plan::{Labels, Plan};
use super::runner::{Point, Ran, RunResult};
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_results::{Distribution, Measurement};
use foregather_sim::smp::State;
use std::collections::{BTreeMap, BTreeSet};

/// A picture of more samples of one run would show no more.
const SAMPLES_MAX: usize = 2_000;

/// The measurements of all points, in the order of the plan.
pub fn measurements(plan: &Plan, points: &[Point]) -> Vec<Measurement> {
    let figure = plan.figure();
    let jobs: Vec<Option<&str>> =
        if figure.of.is_empty() { vec![None] } else { figure.of.iter().map(|name| Some(name.as_str())).collect() };
    let (mut groups, mut places) = (Vec::<(Labels, Vec<&Point>)>::new(), BTreeMap::new());
    for point in points.iter().filter(|point| !point.runs.is_empty()) {
        let labels = plan.group(point.number);
        let place = *places.entry(labels.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((labels, vec![]));
        }
        groups[place].1.push(point);
    }
    let mut all = Vec::new();
    for (labels, group) in &groups {
        for &of in &jobs {
            let seen: Vec<View<'_>> = group.iter().flat_map(|point| see(plan, points, point, of)).collect();
            all.push(measurement(plan, labels, of.filter(|_| jobs.len() > 1), &seen));
        }
    }
    let first = |point: &Point| point.runs.first().map_or(vec![], |ran| over_time(plan, point, ran));
    all.extend(points.iter().flat_map(first));
    all
}

/// Why measurements have no value, if some have none: their runs came to the limit before the jobs had met.
pub fn missing(points: &[Point], measurements: &[Measurement]) -> Option<String> {
    let plain = measurements.iter().filter(|measurement| !measurement.labels.contains_key("state"));
    let without = plain.clone().filter(|measurement| measurement.summary.mean.is_none()).count();
    let at_limit = |ran: &Ran| ran.smp().filter(|(study, outcome)| outcome.time >= study.limit).map(|(study, _)| study.limit);
    let limit = points.iter().flat_map(|point| &point.runs).find_map(at_limit)?;
    (without > 0).then(|| {
        let all = plain.count();
        format!(
            "{without} of {all} values are missing (-): simulated time ended at the limit of {limit} before the jobs had met; \
             compute less between barriers, or raise `limit` of [run] in a plan (--set run.limit=\"400 s\")"
        )
    })
}

/// A measurement of these values, named as `simulate/fig3/load=96/policy=CS`, with the circumstances as
/// labels.
fn blank(plan: &Plan, labels: &Labels, more: &[(&str, &str)], what: &str, unit: &str, values: Vec<f64>) -> Measurement {
    let labels = labels.iter().map(|(name, label)| (name.as_str(), label.as_str())).chain(more.iter().copied());
    let parts: Vec<String> = labels.clone().map(|(name, label)| format!("/{name}={}", label.replace('/', "-"))).collect();
    let id = format!("simulate/{}{}", plan.name(), parts.concat());
    let what = format!("{}: {what}", plan.title());
    let measurement = Measurement::from_values(id, what, unit, values).label("plan", plan.name());
    labels.fold(measurement, |measurement, (name, label)| measurement.label(name, label))
}

fn measurement(plan: &Plan, labels: &Labels, job: Option<&str>, seen: &[View<'_>]) -> Measurement {
    let figure = plan.figure();
    let values: Vec<f64> = seen.iter().map(|seen| figure.y.value(seen)).collect();
    let deviation = average_absolute_deviation(&values);
    let job = job.map(|job| ("job", job));
    let mut measurement = blank(plan, labels, job.as_slice(), figure.y.what, figure.y.unit, values);
    let axes = if figure.heat { ["column-axis", "row-axis"] } else { ["x-axis", "series-axis"] };
    for (label, names) in axes.into_iter().zip([&figure.along, &figure.across]).filter(|(_, names)| !names.is_empty()) {
        measurement = measurement.label(label, names.join(" "));
    }
    if let Some(best) = plan.best_name() {
        measurement = measurement.label("best-axis", best);
    }
    let mean = |values: Vec<f64>| Distribution::of_values(&values).map_or(f64::NAN, |all| all.mean());
    let of = |metric: &Metric| mean(seen.iter().map(|seen| metric.value(seen)).collect());
    let figures = plan.metrics().iter().map(|metric| (metric.figure, of(metric)));
    let measurement = figures.fold(measurement, |measurement, (name, value)| measurement.figure(name, value));
    measurement.figure("average_absolute_deviation", deviation)
}

/// The deviation that Tsafrir & Feitelson 2002 write after their averages; `NaN` for fewer than two values.
fn average_absolute_deviation(values: &[f64]) -> f64 {
    match Distribution::of_values(values) {
        Some(all) if all.count() > 1 => {
            let mean = all.mean();
            let finite = values.iter().filter(|value| value.is_finite());
            finite.map(|value| (value - mean).abs()).sum::<f64>() / all.count() as f64
        }
        _ => f64::NAN,
    }
}

/// A point's runs, each beside the one with the same seed that speedups are over.
pub(super) fn see<'a>(plan: &Plan, points: &'a [Point], point: &'a Point, of: Option<&'a str>) -> impl Iterator<Item = View<'a>> {
    let baseline = plan.baseline(point.number).map(|number| &points[number]);
    let best_and_own_ns = best_and_own(plan, points, point, of);
    point.runs.iter().map(move |ran| match &ran.played {
        RunResult::Smp(study, outcome) => {
            let over = baseline.and_then(|point| point.runs.iter().find(|other| other.seed == ran.seed));
            View::Smp(Seen { study, outcome, of, over: over.and_then(Ran::smp), best_and_own_ns })
        }
        RunResult::Network(_, summary) => View::Network(summary),
    })
}

/// The shortest time of all choices that regrets are over, and the point's own, each averaged over its seeds:
/// a lucky seed is no choice.
fn best_and_own(plan: &Plan, points: &[Point], point: &Point, of: Option<&str>) -> Option<[f64; 2]> {
    let mean = |number: usize| {
        let runs = points[number].runs.iter().filter_map(Ran::smp);
        let all: Vec<f64> =
            runs.map(|(study, outcome)| Seen { study, outcome, of, over: None, best_and_own_ns: None }.elapsed_ns()).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let best = plan.rivals(point.number)?.map(mean).filter(|ns| ns.is_finite()).min_by(f64::total_cmp)?;
    Some([best, mean(point.number)])
}

/// What the first seed of a point recorded: states of the first job's threads, and spins window by window.
fn over_time(plan: &Plan, point: &Point, ran: &Ran) -> Vec<Measurement> {
    let Some((study, outcome)) = ran.smp() else { return vec![] };
    let (record, recorded) = (study.record, &outcome.recorded);
    let mut all = Vec::new();
    let samples = &recorded.samples[..recorded.samples.len().min(SAMPLES_MAX)];
    if !samples.is_empty() {
        let mut strip = |name: &str, what: &str, of: &dyn Fn(usize) -> u32| {
            let counts = (0..samples.len()).map(|i| f64::from(of(i))).collect();
            let strip = blank(plan, &point.labels, &[("state", name)], what, "threads", counts);
            all.push(strip.figure("sample_us", record.sample.as_us()));
        };
        for (at, state) in State::ALL.into_iter().enumerate() {
            strip(state.name(), "threads of the first job in a state, over time", &|i| samples[i].states[at]);
        }
        strip("native", "processors that the first job's threads ran on last, over time", &|i| samples[i].native);
    }
    if !recorded.windows.is_empty() {
        // A window in which no spin ended shows the rate of the one before.
        let mut last = 0.0;
        let rates = recorded.windows.iter().take(SAMPLES_MAX).map(|window| {
            last = window.ssr_percent().unwrap_or(last);
            last
        });
        let windows = blank(
            plan,
            &point.labels,
            &[("state", "ssr")],
            "spins of the first job that succeeded, over time",
            "%",
            rates.collect(),
        );
        all.push(windows.figure("window_us", record.window.as_us()));
    }
    all
}

/// The figure in numbers: rows by columns, or x down and series across; what else varies stands before them.
pub fn table(plan: &Plan, measurements: &[Measurement]) -> ResultTable {
    let figure = plan.figure();
    let swept = plan.labels(0).into_iter().map(|(name, _)| name).chain((figure.of.len() > 1).then(|| "job".to_owned()));
    let across = if figure.heat { &figure.along } else { &figure.across };
    let down: Vec<String> = swept.filter(|name| !across.contains(name)).collect();
    let labels = |m: &Measurement, names: &[String]| -> Vec<String> {
        names.iter().map(|name| m.labels.get(name).cloned().unwrap_or_default()).collect()
    };
    let column = |m: &Measurement| if across.is_empty() { figure.y.name.to_owned() } else { labels(m, across).join(" ") };
    let shown: Vec<&Measurement> = measurements.iter().filter(|m| !m.labels.contains_key("state")).collect();
    let (mut columns, mut rows) = (vec![], vec![]);
    let (mut known, mut means) = (BTreeSet::new(), BTreeMap::new());
    for m in shown {
        let (row, column) = (labels(m, &down), column(m));
        if !columns.contains(&column) {
            columns.push(column.clone());
        }
        if known.insert(row.clone()) {
            rows.push(row.clone());
        }
        means.insert((row, column), m.summary.mean);
    }
    let mut table = ResultTable::new(down.iter().chain(&columns).cloned());
    for row in rows {
        let mean = |column: &String| means.get(&(row.clone(), column.clone())).copied().flatten();
        // What is left of a sum of differences around nothing is rounding.
        let exact = |mean: f64| if mean.abs() < 1e-9 { 0.0 } else { mean };
        let cells = columns.iter().map(|column| mean(column).map_or_else(|| "-".to_owned(), |mean| digits(exact(mean), 4)));
        table.rows.push(row.iter().cloned().chain(cells).collect());
    }
    if figure.best.is_some() {
        let of =
            |column: &String| -> Vec<f64> { means.iter().filter(|((_, c), _)| c == column).filter_map(|(_, m)| *m).collect() };
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let worst = |all: &[f64]| all.iter().copied().fold(f64::NAN, f64::max);
        for (name, sum) in [("mean", &mean as &dyn Fn(&[f64]) -> f64), ("worst", &worst)] {
            let heads = (0..down.len()).map(|at| if at == 0 { name.to_owned() } else { String::new() });
            table.rows.push(heads.chain(columns.iter().map(|column| digits(sum(&of(column)), 4))).collect());
        }
    }
    table
}
