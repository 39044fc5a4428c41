//! Two results files: the ratio of each pair of medians, how certain it is, and what makes the files hard to compare.
//!
//! The interval is a bootstrap over the values of each run. It knows nothing of what differs between two runs of the
//! same thing, so an allowance is added: the drift between the two halves of each run (an A/A comparison that every
//! file carries in itself), and at least what the noise verdict of the noisier run suggests.
use crate::number::digits;
use crate::table::ResultTable;
use crate::{Distribution, Level, Measurement, Provenance, Results};
use bootstrap::medians;
use foregather_machine::{SplitMix, shown};
use serde::Serialize;
use std::collections::BTreeMap;

mod bootstrap;

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

/// Is the second the same as the first, within interval and allowance?
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

fn pair(a: &Measurement, b: &Measurement, floor: f64) -> Option<Pair> {
    let (da, db) = (a.distribution()?, b.distribution()?);
    let (ma, mb) = (da.quantile(0.5), db.quantile(0.5));
    if ma <= 0.0 || mb <= 0.0 {
        return None; // no ratio exists
    }
    let mut random = SplitMix(0x5eed);
    let (ra, rb) = (medians(&da, &mut random), medians(&db, &mut random));
    let ratios: Vec<f64> = ra.iter().zip(&rb).map(|(a, b)| b / a).collect();
    let ratios = Distribution::of_values(&ratios);
    let (low, high) = ratios.map_or((0.0, f64::INFINITY), |r| (r.quantile(0.025), r.quantile(0.975)));
    let allowance = floor.max(drift(a)).max(drift(b));
    let mark = match (low / (1.0 + allowance) > 1.0, high * (1.0 + allowance) < 1.0, a.unit.ends_with("/s")) {
        (true, _, false) | (_, true, true) => Mark::Slower,
        (true, _, true) | (_, true, false) => Mark::Faster,
        _ => Mark::Same,
    };
    Some(Pair { id: a.id.clone(), unit: a.unit.clone(), a: ma, b: mb, ratio: mb / ma, low, high, allowance, mark })
}

/// The least by which two runs of the same thing differ on a machine as quiet as this.
fn floor(level: Level) -> f64 {
    match level {
        Level::Quiet => 0.02,
        Level::Noisy => 0.10,
        Level::Unusable => 0.30,
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
        if results.noise.verdict != Level::Quiet {
            warnings.push(format!("the {which} run was {}: {}", results.noise.verdict, results.noise.facts.join("; ")));
        }
        if results.interrupted {
            warnings.push(format!("the {which} run was interrupted before its end"));
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
