//! Figures of what barriers cost and how evenly they release, and of what disturbs a busy processor.
use crate::report::check_markup;
use crate::sample;
use foregather_report::{Figure, figure_svg};
use foregather_results::{Measurement, Results};

const KINDS: [(&str, f64); 4] = [("tree", 0.41), ("central", 0.27), ("dissemination", 0.3), ("rds", 0.42)];
/// Loops in a made-up trace; the last of every `EVERY` is interrupted.
const LOOPS: usize = 2_000;
const EVERY: usize = 20;
/// Trials in a made-up line: `STEPS` lengths in turn, and one of every `ABOVE` lies above the line.
const TRIALS: usize = 240;
const STEPS: usize = 24;
const ABOVE: usize = 7;

fn case(kind: &str, policy: &str, release: &str, cost_us: f64, (p50, p99): (f64, f64)) -> Measurement {
    let m = Measurement::from_values(format!("skew/{kind}/{policy}/{release}"), "cost", "us", vec![cost_us]);
    let m = m.label("kind", kind).label("policy", policy).label("release", release).label("threads", "2");
    m.figure("exit_skew_p50_ns", p50).figure("exit_skew_p99_ns", p99)
}

/// Results as `measure skew` gives them.
pub(crate) fn skew() -> Results {
    let mut results = sample::empty("measure skew");
    for (policy, slower, apart) in [("spin", 1.0, 120.0), ("block", 60.0, 7_300.0)] {
        for (kind, cost) in KINDS {
            let plain = case(kind, policy, "plain", cost * slower, (apart, apart * 2.5));
            let predicted = if policy == "spin" && kind != "central" { cost * 0.9 } else { f64::NAN };
            results.measurements.push(plain.figure("predicted_us", predicted));
            let harmonized = case(kind, policy, "harmonized", cost * slower * 2.6, (9.0, 100.0 * cost));
            results.measurements.push(harmonized.figure("met_percent", 97.0));
        }
    }
    results
}

/// Results as `measure noise` gives them on `processors` processors.
pub(crate) fn noise(processors: usize) -> Results {
    let mut results = sample::empty("measure noise");
    for cpu in 0..processors {
        let of = |what: &str, unit: &str, values| {
            Measurement::from_values(format!("noise/{what}/cpu {cpu}"), what, unit, values).label("cpu", cpu.to_string())
        };
        let took = |i: usize| if i % EVERY == EVERY - 1 { 70.0 } else { 19.8 + 0.1 * (i % 3) as f64 };
        let all = of("loops", "ns", vec![19_800.0]).figure("floor_us", 19.8).figure("interruptions_per_s", 2_500.0);
        let all = all.figure("stolen_percent", 12.0).figure("length_p50_us", 50.2).figure("length_max_us", 8_100.0);
        let trace = of("trace", "us", (0..LOOPS).map(took).collect());
        let trace = trace.figure("floor_us", 19.8).figure("interrupted_above_us", 20.8);
        let from_line = |i: usize| if i.is_multiple_of(ABOVE) { 900.0 } else { (i % 5) as f64 - 2.0 };
        let line = of("line", "ns", (0..TRIALS).map(from_line).collect()).figure("slope_ns", 0.79).figure("intercept_ns", 22.7);
        let line = line.figure("outlier_above_ns", 8.0).figure("step_iterations", 500.0).figure("steps", STEPS as f64);
        results.measurements.extend([all, trace, line]);
    }
    results
}

/// Measurements of skew and noise with this text wherever there may be one.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let mut all = [skew().measurements, noise(1).measurements].concat();
    for m in &mut all {
        (m.what, m.unit) = (evil.to_owned(), evil.to_owned());
        for (name, label) in &mut m.labels {
            // Releases are known by their names.
            if name != "release" {
                label.push_str(evil);
            }
        }
    }
    all
}

fn drawn(figure: &Figure, results: Results) -> String {
    let svg = figure_svg(figure, &[results]).expect("it is drawn");
    check_markup(&svg).unwrap_or_else(|why| panic!("{figure:?}: {why}"));
    assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("var("));
    svg
}

/// Results of `measure skew` of one policy that predicts nothing, as older versions wrote them.
pub(crate) fn old_skew() -> Results {
    let mut alone = skew();
    alone.measurements.retain(|m| m.labels["release"] == "plain" && m.labels["policy"] == "block");
    alone.measurements.iter_mut().for_each(|m| m.figures.clear());
    alone
}

#[test]
fn what_no_other_barrier_beats_is_filled() {
    let svg = drawn(&Figure::Of("skew"), skew());
    // Central is the cheapest, both plain and harmonized, and all harmonized ones are as even: two dots for
    // each release, in two parts.
    let dots = |fill: &str| svg.matches(&format!(r#"r="3.6" fill="{fill}""#)).count();
    assert_eq!(dots("#0072b2") + dots("#d55e00"), 2 * 2 * 2);
    assert_eq!(dots("#fff"), 2 * 2 * 2 * (KINDS.len() - 1));
}

#[test]
fn what_an_older_version_wrote_is_no_figure_and_no_error() {
    let mut old = noise(1);
    old.measurements.iter_mut().for_each(|m| m.figures.clear());
    assert_eq!(figure_svg(&Figure::Of("noise-trace"), &[old.clone()]), None);
    assert_eq!(figure_svg(&Figure::Of("noise-line"), &[old]), None);
    assert_eq!(figure_svg(&Figure::Of("skew"), &[sample::waits()]), None);
}

#[test]
fn hostile_names_of_barriers_and_processors_stay_text() {
    let results = Results { measurements: hostile("<script>\"'&"), ..sample::empty("measure skew") };
    for figure in [Figure::Of("skew"), Figure::Of("noise-trace"), Figure::Of("noise-line")] {
        let svg = drawn(&figure, results.clone());
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"), "{figure:?}");
    }
}
