//! Two results files: the ratio of each pair of medians, how certain it is, and what makes the files hard to
//! compare.
//!
//! The interval is a bootstrap over the values of each run. It knows nothing of what differs between two runs
//! of the same thing, so an allowance is added: the drift between the two halves of each run (an A/A
//! comparison that every file carries in itself), and at least what the noise verdict of the noisier run
//! suggests.
use crate::number::digits;
use crate::table::ResultTable;
use crate::{Distribution, Measurement, Provenance, Results, TrustLevel};
use foregather_machine::{SplitMix, shown};
use serde::Serialize;
use std::collections::BTreeMap;

/// Results `b` as seen from results `a`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What makes the two files hard to compare, in full sentences.
    pub warnings: Vec<String>,
    /// Every measurement that both have.
    pub pairs: Vec<Pair>,
    /// Ids that only the first has.
    pub only_in_a: Vec<String>,
    /// Ids that only the second has.
    pub only_in_b: Vec<String>,
}

/// One measurement in both files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Its id.
    pub id: String,
    /// The unit of the medians.
    pub unit: String,
    /// The median of the first.
    pub a: f64,
    /// The median of the second.
    pub b: f64,
    /// `b / a`.
    pub ratio: f64,
    /// The bootstrap interval that holds the ratio with 95 %.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// By what share two runs of the same thing may differ.
    pub allowance: f64,
    /// What follows.
    pub mark: Mark,
}

/// How the second result compares with the first, within interval and allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// No difference can be told.
    Same,
    /// The second is better: less time, or more of a rate (a unit that ends in `/s`).
    Faster,
    /// The second is worse.
    Slower,
}

/// Compares what both files have.
pub fn compare(a: &Results, b: &Results) -> Comparison {
    let (mut pairs, mut only_in_a) = (Vec::new(), Vec::new());
    let floor = floor(a.noise.verdict).max(floor(b.noise.verdict));
    let mut warnings = warnings(a, b);
    let (of_a, of_b) = (by_id(a), by_id(b));
    for first in &a.measurements {
        match of_b.get(first.id.as_str()) {
            Some(second) if first.unit != second.unit => {
                warnings.push(format!("{} is in {} in the first and in {} in the second", first.id, first.unit, second.unit));
            }
            Some(second) => pairs.extend(pair(first, second, floor)),
            None => only_in_a.push(first.id.clone()),
        }
    }
    let only_in_b = b.measurements.iter().filter(|m| !of_a.contains_key(m.id.as_str())).map(|m| m.id.clone()).collect();
    Comparison { warnings, pairs, only_in_a, only_in_b }
}

fn by_id(of: &Results) -> BTreeMap<&str, &Measurement> {
    of.measurements.iter().map(|m| (m.id.as_str(), m)).collect()
}

impl Comparison {
    /// How many pairs came out so.
    pub fn count(&self, mark: Mark) -> usize {
        self.pairs.iter().filter(|p| p.mark == mark).count()
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        crate::json(self)
    }

    /// One row a pair.
    pub fn table(&self) -> ResultTable {
        let mut table = ResultTable::new(["id", "a", "b", "unit", "b/a", "low", "high", "allowance", "mark"]);
        for p in &self.pairs {
            let [a, b, ratio, low, high, allowance] = [p.a, p.b, p.ratio, p.low, p.high, p.allowance].map(|v| digits(v, 4));
            let mark = format!("{:?}", p.mark).to_lowercase();
            table.rows.push(vec![p.id.clone(), a, b, p.unit.clone(), ratio, low, high, allowance, mark]);
        }
        table
    }

    /// The table, what is in one file only, and a summary. Warnings are for stderr: print them yourself.
    pub fn to_text(&self) -> String {
        let mut text = if self.pairs.is_empty() { String::new() } else { self.table().to_text() + "\n" };
        for (ids, which) in [(&self.only_in_a, "first"), (&self.only_in_b, "second")] {
            for id in ids {
                text.push_str(&format!("only in the {which}: {:.400}\n", shown(id)));
            }
        }
        let [faster, slower, same] = [Mark::Faster, Mark::Slower, Mark::Same].map(|mark| self.count(mark));
        text + &format!("{} in both: {faster} faster, {slower} slower, {same} the same\n", self.pairs.len())
    }
}

/// The ratio of the second median to the first, and the bootstrap interval that holds it with 95 %. `None`
/// if there is no ratio.
pub fn ratio_of_medians(a: &Distribution, b: &Distribution) -> Option<[f64; 3]> {
    let (ma, mb) = (a.quantile(0.5), b.quantile(0.5));
    if ma <= 0.0 || mb <= 0.0 {
        return None;
    }
    let mut random = SplitMix(0x5eed);
    let (ra, rb) = (medians(a, &mut random), medians(b, &mut random));
    let ratios: Vec<f64> = ra.iter().zip(&rb).map(|(a, b)| b / a).collect();
    let ratios = Distribution::of_values(&ratios);
    let (low, high) = ratios.map_or((0.0, f64::INFINITY), |r| (r.quantile(0.025), r.quantile(0.975)));
    Some([mb / ma, low, high])
}

fn pair(a: &Measurement, b: &Measurement, floor: f64) -> Option<Pair> {
    let (da, db) = (a.distribution()?, b.distribution()?);
    let (ma, mb) = (da.quantile(0.5), db.quantile(0.5));
    let [ratio, low, high] = ratio_of_medians(&da, &db)?;
    let allowance = floor.max(drift(a)).max(drift(b));
    let mark = match (low / (1.0 + allowance) > 1.0, high * (1.0 + allowance) < 1.0, a.unit.ends_with("/s")) {
        (true, _, false) | (_, true, true) => Mark::Slower,
        (true, _, true) | (_, true, false) => Mark::Faster,
        _ => Mark::Same,
    };
    Some(Pair { id: a.id.clone(), unit: a.unit.clone(), a: ma, b: mb, ratio, low, high, allowance, mark })
}

/// The least by which two runs of the same thing differ on a machine as quiet as this.
fn floor(level: TrustLevel) -> f64 {
    match level {
        TrustLevel::Quiet => 0.02,
        TrustLevel::Noisy => 0.10,
        TrustLevel::Unusable => 0.30,
    }
}

/// By how much the second half of a run differs from its first; 0 where the order of the values was not kept.
fn drift(m: &Measurement) -> f64 {
    let values = m.values.as_deref().unwrap_or_default();
    let (first, second) = values.split_at(values.len() / 2);
    if first.len() < 2 {
        return 0.0;
    }
    let median = |half| Distribution::of_values(half).map(|d| d.quantile(0.5)).filter(|&m| m > 0.0);
    median(first).zip(median(second)).map_or(0.0, |(a, b)| (a / b).max(b / a) - 1.0)
}

/// What makes two files hard to compare.
fn warnings(a: &Results, b: &Results) -> Vec<String> {
    let mut warnings = Vec::new();
    if a.experiment != b.experiment {
        warnings.push(format!("the first is of {:?}, the second of {:?}", a.experiment, b.experiment));
    }
    for (what, a, b) in Provenance::differences(&a.provenance, &b.provenance) {
        warnings.push(format!("{what} differs: {a} in the first, {b} in the second"));
    }
    for (which, results) in [("first", a), ("second", b)] {
        if results.noise.verdict != TrustLevel::Quiet {
            warnings.push(format!("the {which} run was {}: {}", results.noise.verdict, results.noise.facts.join("; ")));
        }
        if results.interrupted {
            warnings.push(format!("the {which} run was interrupted before its end"));
        }
    }
    warnings
}

/// Bootstrap replicates of each median.
const REPLICATES: usize = 2000;
/// Up to this number of values the bootstrap draws each; above, it draws the rank of the median, which is
/// then nearly normal.
pub(super) const DRAWN_EACH: u64 = 64;

/// Bootstrap replicates of the median.
pub(super) fn medians(of: &Distribution, random: &mut SplitMix) -> Vec<f64> {
    let n = of.count();
    let drawn = |random: &mut SplitMix| {
        let values: Vec<f64> = (0..n).map(|_| of.quantile((random.below(n) as f64) / (n - 1).max(1) as f64)).collect();
        Distribution::of_values(&values).map_or(f64::NAN, |d| d.quantile(0.5))
    };
    let ranked = |random: &mut SplitMix| of.quantile(0.5 + 0.5 * random.normal_pair().0 / (n as f64).sqrt());
    (0..REPLICATES).map(|_| if n <= DRAWN_EACH { drawn(random) } else { ranked(random) }).collect()
}

#[cfg(test)]
mod tests {
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
        // The median of n values between 400 and 600 scatters by about 200 / (2 sqrt n): the drawn rank must
        // say so too.
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
        let noisy = Results { noise: Noise { verdict: TrustLevel::Noisy, ..Noise::default() }, ..steady(5.4) };
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
        assert_eq!(
            (&comparison.only_in_a[..], &comparison.only_in_b[..]),
            (&["old".to_owned()][..], &["new\u{1b}".to_owned()][..])
        );
        assert_eq!(comparison.pairs.len(), 1, "a median of zero has no ratio, other units no meaning");
        for part in ["kernel differs: 6.1 in the first, 6.18 in the second", "interrupted", "unit is in us"] {
            assert!(comparison.warnings.iter().any(|w| w.contains(part)), "{part}: {:?}", comparison.warnings);
        }
        let text = comparison.to_text();
        assert!(text.contains("only in the first: old") && text.contains("1 in both") && !text.contains('\u{1b}'), "{text}");
        let json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
        assert_eq!(json["pairs"][0]["mark"], "same");
    }
}
