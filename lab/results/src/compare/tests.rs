//! What is the same must be called so, what differs must not, and a comparison can be repeated.
use super::bootstrap::DRAWN_EACH;
use super::*;
use crate::{Noise, SCHEMA};

fn results(measurements: Vec<Measurement>) -> Results {
    Results {
        schema: SCHEMA.to_owned(),
        experiment: "measure waits".to_owned(),
        argv: vec![],
        started_unix_s: 0,
        seconds: 1.0,
        seed: None,
        interrupted: false,
        provenance: Provenance::default(),
        noise: Noise::default(),
        measurements,
        timelines: vec![],
        verdicts: vec![],
        notes: vec![],
    }
}

/// Values around `centre`, scattered by a tenth, the same in every run for one seed.
fn values(id: &str, unit: &str, centre: f64, seed: u64) -> Measurement {
    let mut random = SplitMix(seed);
    let values = (0..40).map(|_| centre * (0.95 + 0.1 * random.unit())).collect();
    Measurement::from_values(id, "time", unit, values)
}

#[test]
fn a_file_is_the_same_as_itself() {
    let histogram: Vec<(u64, u64)> = (400..600).map(|v| (v, 1 + v % 7)).collect();
    let a = results(vec![values("a", "us", 5.0, 1), Measurement::from_histogram("h", "time", "ns", histogram)]);
    let comparison = compare(&a, &a);
    assert_eq!(comparison.count(Mark::Same), 2, "{comparison:?}");
    assert!(comparison.pairs.iter().all(|p| p.ratio == 1.0 && p.low <= 1.0 && p.high >= 1.0), "{comparison:?}");
    assert!(comparison.warnings.is_empty(), "{comparison:?}");
    assert_eq!(comparison, compare(&a, &a), "it can be repeated");
}

#[test]
fn less_time_is_faster_and_more_of_a_rate_is_faster() {
    let a = results(vec![values("time", "us", 5.0, 1), values("rate", "1/s", 5.0, 2), values("near", "us", 5.0, 3)]);
    let b = results(vec![values("time", "us", 4.0, 4), values("rate", "1/s", 4.0, 5), values("near", "us", 5.0, 6)]);
    let marks = |c: &Comparison| c.pairs.iter().map(|p| p.mark).collect::<Vec<_>>();
    assert_eq!(marks(&compare(&a, &b)), [Mark::Faster, Mark::Slower, Mark::Same]);
    assert_eq!(marks(&compare(&b, &a)), [Mark::Slower, Mark::Faster, Mark::Same]);
    let pair = &compare(&a, &b).pairs[0];
    assert!(pair.low > 0.7 && pair.low < pair.ratio && pair.ratio < pair.high && pair.high < 0.9, "{pair:?}");
}

#[test]
fn many_values_give_a_narrower_interval_by_either_way_of_drawing() {
    let histogram = |n: u64, shift: u64| {
        let counts = (400..600).map(|v| (v + shift, n)).collect();
        results(vec![Measurement::from_histogram("h", "time", "ns", counts)])
    };
    let width = |n| {
        let p = compare(&histogram(n, 0), &histogram(n, 10)).pairs.remove(0);
        assert!(p.low < p.ratio && p.ratio < p.high, "{p:?}");
        p.high - p.low
    };
    assert!(width(100) < width(1) / 5.0);
    // The median of n values between 400 and 600 scatters by about 200 / (2 sqrt n): the drawn rank must say so too.
    let few: Vec<f64> = (0..DRAWN_EACH).map(|i| 400.0 + 200.0 * i as f64 / DRAWN_EACH as f64).collect();
    let more: Vec<f64> = few.iter().copied().chain([500.0]).collect();
    let spread = |values: &[f64]| {
        let medians = medians(&Distribution::of_values(values).unwrap(), &mut SplitMix(3));
        let d = Distribution::of_values(&medians).unwrap();
        d.quantile(0.975) - d.quantile(0.025)
    };
    let ratio = spread(&few) / spread(&more);
    assert!((0.8..1.25).contains(&ratio), "drawing each: {}, drawing the rank: {}", spread(&few), spread(&more));
}

#[test]
fn drift_within_a_run_and_noise_widen_what_counts_as_the_same() {
    let drifting = (0..40).map(|i| if i < 20 { 5.0 } else { 6.5 }).collect();
    let a = results(vec![Measurement::from_values("m", "time", "us", drifting)]);
    let b = results(vec![Measurement::from_values("m", "time", "us", vec![7.0; 40])]);
    let pair = compare(&a, &b).pairs.remove(0);
    assert_eq!((pair.mark, (pair.allowance * 10.0).round()), (Mark::Same, 3.0), "{pair:?}");
    let steady = |v: f64| results(vec![Measurement::from_values("m", "time", "us", vec![v; 40])]);
    assert_eq!(compare(&steady(5.0), &steady(5.4)).pairs[0].mark, Mark::Slower);
    let noisy = Results { noise: Noise { verdict: Level::Noisy, ..Noise::default() }, ..steady(5.4) };
    assert_eq!(compare(&steady(5.0), &noisy).pairs[0].mark, Mark::Same);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let mut a = results(vec![values("both", "us", 1.0, 1), values("unit", "us", 1.0, 1), values("old", "us", 1.0, 1)]);
    let mut b = results(vec![values("both", "us", 1.0, 2), values("unit", "ns", 1.0, 1), values("new\u{1b}", "us", 1.0, 1)]);
    a.measurements.push(Measurement::from_values("zero", "time", "us", vec![0.0]));
    b.measurements.push(Measurement::from_values("zero", "time", "us", vec![1.0]));
    a.provenance.kernel = Some("6.1".to_owned());
    b.provenance.kernel = Some("6.18".to_owned());
    b.interrupted = true;
    let comparison = compare(&a, &b);
    assert_eq!((&comparison.only_in_a[..], &comparison.only_in_b[..]), (&["old".to_owned()][..], &["new\u{1b}".to_owned()][..]));
    assert_eq!(comparison.pairs.len(), 1, "a median of zero has no ratio, other units no meaning");
    for part in ["kernel differs: 6.1 in the first, 6.18 in the second", "interrupted", "unit is in us"] {
        assert!(comparison.warnings.iter().any(|w| w.contains(part)), "{part}: {:?}", comparison.warnings);
    }
    let text = comparison.to_text();
    assert!(text.contains("only in the first: old") && text.contains("1 in both") && !text.contains('\u{1b}'), "{text}");
    let json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    assert_eq!(json["pairs"][0]["mark"], "same");
}
