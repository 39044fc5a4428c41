//! What was found, as measurements and as tables.
use super::{Case, front};
use foregather_bench::skew::{Release, Series};
use foregather_machine::Nanos;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_results::{Distribution, Measurement};

/// One measurement a case: its cost, repetition by repetition, and everything else beside it.
pub(super) fn measurements(cases: &[Case], predicted: impl Fn(&Case, usize) -> Option<Nanos>) -> Vec<Measurement> {
    let ran: Vec<&Case> = cases.iter().filter(|case| case.episodes().next().is_some()).collect();
    let all: Vec<Measurement> = ran.into_iter().map(|case| measurement(case, |repetition| predicted(case, repetition))).collect();
    let figure = |m: &Measurement, name: &str| m.figures.get(name).copied().unwrap_or(f64::NAN);
    let points: Vec<_> = all.iter().map(|m| (m.summary.p50.unwrap_or(f64::NAN), figure(m, "exit_skew_p50_ns"))).collect();
    let layers = front::layers(&points);
    let mut ranked: Vec<_> = all.into_iter().zip(layers).map(|(m, layer)| m.figure("layer", f64::from(layer))).collect();
    ranked.sort_by(|a, b| {
        figure(a, "layer")
            .total_cmp(&figure(b, "layer"))
            .then(a.summary.p50.unwrap_or(0.0).total_cmp(&b.summary.p50.unwrap_or(0.0)))
    });
    ranked
}

fn measurement(case: &Case, predicted: impl Fn(usize) -> Option<Nanos>) -> Measurement {
    let cost_us = |series: &Series| quantile(series.episodes.iter().map(|e| e.cost), 0.5).map(|ns| ns / 1e3);
    let costs: Vec<f64> = case.series.iter().filter_map(cost_us).collect();
    // Each repetition beside the prediction from the parameters of its own moment.
    let both = |(repetition, series): (usize, &Series)| Some((predicted(repetition)?.as_us(), cost_us(series)?));
    let beside: Vec<(f64, f64)> = case.series.iter().enumerate().filter_map(both).collect();
    let median = |values: Vec<f64>| Distribution::of_values(&values).map_or(f64::NAN, |all| all.quantile(0.5));
    let (kind, policy, release) = (case.kind.name(), case.policy_name, case.release.name());
    let what = "from the last member's arrival to the last one's exit";
    let all = Measurement::from_values(format!("skew/{kind}/{policy}/{release}"), what, "us", costs)
        .label("kind", kind)
        .label("policy", policy)
        .label("release", release);
    let any = |q| quantile(case.episodes().map(|e| e.skew), q).unwrap_or(f64::NAN);
    let met = |q| quantile(case.episodes().filter(|e| e.met).map(|e| e.skew), q).unwrap_or(f64::NAN);
    let episodes = case.episodes().count() as f64;
    let cpu: f64 = case.series.iter().map(|series| series.cpu.as_us()).sum();
    let all = all
        .figure("exit_skew_p50_ns", any(0.5))
        .figure("exit_skew_p90_ns", any(0.9))
        .figure("exit_skew_p99_ns", any(0.99))
        .figure("cpu_us_per_episode", cpu / episodes)
        .figure("predicted_us", median(beside.iter().map(|(predicted, _)| *predicted).collect()))
        .figure("measured_over_predicted", median(beside.iter().map(|(predicted, measured)| measured / predicted).collect()))
        .figure("episodes", episodes);
    if case.release == Release::Plain {
        return all;
    }
    let slack = case.series.iter().map(|series| series.slack).max().unwrap_or_default();
    all.figure("met_exit_skew_p50_ns", met(0.5))
        .figure("met_exit_skew_p99_ns", met(0.99))
        .figure("met_percent", case.episodes().filter(|e| e.met).count() as f64 * 100.0 / episodes)
        .figure("slack_us", slack.as_us())
}

fn quantile(spans: impl Iterator<Item = Nanos>, q: f64) -> Option<f64> {
    let values: Vec<f64> = spans.map(|span| span.0 as f64).collect();
    Distribution::of_values(&values).map(|all| all.quantile(q))
}

/// The parameters, then every case in the order of the ranking.
pub fn table(all: &[Measurement]) -> String {
    let (parameters, cases): (Vec<_>, Vec<_>) = all.iter().partition(|m| m.id.starts_with("loggp/"));
    let mut text = String::new();
    if !parameters.is_empty() {
        let mut table = ResultTable::new(["LogGP", "p50", "p90", "unit", "what"]);
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| digits(value, 4));
        for m in parameters {
            let name = m.labels.get("parameter").cloned().unwrap_or_default();
            table.rows.push(vec![name, shown(m.summary.p50), shown(m.summary.p90), m.unit.clone(), m.what.clone()]);
        }
        text = table.to_text() + "\n";
    }
    text + &ranking(&cases).to_text()
}

fn ranking(cases: &[&Measurement]) -> ResultTable {
    let figures = [
        ("predicted", "predicted_us"),
        ("ratio", "measured_over_predicted"),
        ("skew p50 ns", "exit_skew_p50_ns"),
        ("p90", "exit_skew_p90_ns"),
        ("p99", "exit_skew_p99_ns"),
        ("met %", "met_percent"),
        ("met p50", "met_exit_skew_p50_ns"),
        ("met p99", "met_exit_skew_p99_ns"),
        ("slack us", "slack_us"),
        ("cpu us", "cpu_us_per_episode"),
    ];
    let own = ["layer", "barrier", "policy", "release", "cost us"];
    let mut table = ResultTable::new(own.into_iter().chain(figures.map(|(heading, _)| heading)));
    for m in cases {
        let figure = |name: &str| m.figures.get(name).map_or_else(|| "-".to_owned(), |&value| digits(value, 4));
        let label = |name: &str| m.labels.get(name).cloned().unwrap_or_default();
        let cost = m.summary.p50.map_or_else(|| "-".to_owned(), |us| digits(us, 3));
        let mut row = vec![figure("layer"), label("kind"), label("policy"), label("release"), cost];
        row.extend(figures.map(|(_, name)| figure(name)));
        table.rows.push(row);
    }
    table
}
