//! What is kept of a run of the matrix: of every row and waiter, its share of the oracle with quartiles; and
//! on which machine.
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SCHEMA: &str = "foregather.baseline/1";
const RESULTS: &str = "foregather.results/1";
/// Policies that a baseline is kept of unless others are named.
const CANDIDATE: &str = "/adaptive";

/// All that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    schema: String,
    pub(super) machine: Machine,
    pub(super) rows: Vec<Row>,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) cpu: Option<String>,
    pub(super) cpus_allowed: String,
    pub(super) quota_cpus: Option<f64>,
    pub(super) hypervisor: Option<String>,
    pub(super) kernel: Option<String>,
    commit: Option<String>,
    rustc: String,
    /// Results have it elsewhere.
    #[serde(default)]
    noise: String,
    #[serde(default)]
    measured_unix_s: u64,
}

/// A waiter in a row of the matrix: the quartiles of its shares of the oracle, one a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) row: String,
    pub(super) waiter: String,
    oracle: String,
    repetitions: usize,
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_over_oracle: Option<f64>,
}

/// What a baseline needs of results.
#[derive(Deserialize)]
struct Results {
    started_unix_s: u64,
    provenance: Machine,
    noise: Noise,
    measurements: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Noise {
    verdict: String,
}

#[derive(Deserialize)]
struct Measurement {
    labels: BTreeMap<String, String>,
    values: Option<Vec<f64>>,
    figures: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Header {
    schema: String,
}

impl Baseline {
    /// Of a baseline file, or of a results file: there, of these waiters or of the candidates.
    pub(super) fn parse(text: &str, waiters: Option<&[String]>) -> Result<Self> {
        let header: Header = serde_json::from_str(text).context("neither a baseline nor results")?;
        match header.schema.as_str() {
            SCHEMA => serde_json::from_str(text).context("a baseline of another form; store it again"),
            RESULTS => Self::of_results(serde_json::from_str(text).context("results of another form; measure again")?, waiters),
            other => bail!("its schema is `{other}`; expected {SCHEMA} or {RESULTS}"),
        }
    }

    fn of_results(results: Results, waiters: Option<&[String]>) -> Result<Self> {
        let wanted = |waiter: &str| match waiters {
            Some(waiters) => waiters.iter().any(|name| name == waiter),
            None => waiter.ends_with(CANDIDATE),
        };
        let rows: Vec<Row> = results.measurements.iter().filter_map(Row::of).filter(|row| wanted(&row.waiter)).collect();
        let whom = waiters.map_or_else(|| format!("KIND{CANDIDATE}"), |waiters| waiters.join(", "));
        ensure!(!rows.is_empty(), "no row of {whom} beside peers: `foregather measure barriers --wide --output FILE` has some");
        let machine = Machine { noise: results.noise.verdict, measured_unix_s: results.started_unix_s, ..results.provenance };
        Ok(Self { schema: SCHEMA.to_owned(), machine, rows })
    }

    /// A line for every row, so that a change of it can be read.
    pub(super) fn to_json(&self) -> String {
        let json = |value: serde_json::Result<String>| value.expect("plain data with text as keys");
        let rows: Vec<String> = self.rows.iter().map(|row| json(serde_json::to_string(row))).collect();
        let machine = json(serde_json::to_string(&self.machine));
        format!("{{\"schema\":\"{}\",\n\"machine\":{machine},\n\"rows\":[\n{}\n]}}\n", self.schema, rows.join(",\n"))
    }

    /// That waiter in that row.
    pub(super) fn find(&self, like: &Row) -> Option<&Row> {
        self.rows.iter().find(|row| row.row == like.row && row.waiter == like.waiter)
    }
}

impl Row {
    /// `None` of what is no cell, or has no oracle.
    fn of(m: &Measurement) -> Option<Self> {
        let label = |name: &str| m.labels.get(name).cloned();
        let mut rates = m.values.clone()?;
        rates.sort_by(f64::total_cmp);
        let oracle_rate = quantile(&rates, 0.5)? / *m.figures.get("oracle_share").filter(|&&share| share > 0.0)?;
        let at = |q| Some(rounded(quantile(&rates, q)? / oracle_rate));
        Some(Self {
            row: label("row")?,
            waiter: label("waiter")?,
            oracle: label("oracle")?,
            repetitions: rates.len(),
            low: at(0.25)?,
            median: at(0.5)?,
            high: at(0.75)?,
            cpu_over_oracle: m.figures.get("cpu_over_oracle").map(|&times| rounded(times)),
        })
    }
}

/// Of sorted values, interpolated between neighbours.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * q;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

/// Four digits: the rest is noise.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A baseline of one waiter: rows with their quartiles.
    pub(crate) fn of(rows: &[(&str, [f64; 3])]) -> Baseline {
        let row = |&(row, [low, median, high]): &(&str, [f64; 3])| Row {
            row: row.to_owned(),
            waiter: "central/adaptive".to_owned(),
            oracle: "hurdles".to_owned(),
            repetitions: 7,
            low,
            median,
            high,
            cpu_over_oracle: Some(1.25),
        };
        Baseline { schema: SCHEMA.to_owned(), machine: Machine::default(), rows: rows.iter().map(row).collect() }
    }

    const RESULTS: &str = r#"{"schema":"foregather.results/1","started_unix_s":7,"seconds":1,
        "provenance":{"cpu":"Z80","cpus_allowed":"0-1","rustc":"1.89","clock":"tsc"},"noise":{"verdict":"noisy","facts":[]},
        "measurements":[
        {"id":"a","labels":{"row":"2t, 1 us","waiter":"central/adaptive","oracle":"gomp"},"values":[300,100,200],
         "figures":{"oracle_share":0.5,"cpu_over_oracle":1.23456}},
        {"id":"b","labels":{"row":"2t, 1 us","waiter":"gomp","oracle":"gomp"},"values":[400],"figures":{"oracle_share":1}},
        {"id":"c","labels":{"name":"gomp"},"values":[1],"figures":{"oracle_share_geomean":1}}]}"#;

    #[test]
    fn shares_and_quartiles_are_kept_of_results_and_survive_the_file() {
        let kept = Baseline::parse(RESULTS, None).unwrap();
        assert_eq!(kept.rows.len(), 1);
        let row = &kept.rows[0];
        assert_eq!((row.low, row.median, row.high, row.cpu_over_oracle), (0.375, 0.5, 0.625, Some(1.235)));
        assert_eq!((kept.machine.cpu.as_deref(), kept.machine.noise.as_str()), (Some("Z80"), "noisy"));
        assert_eq!(Baseline::parse(&kept.to_json(), None).unwrap(), kept);
        assert_eq!(Baseline::parse(RESULTS, Some(&["gomp".to_owned()])).unwrap().rows[0].waiter, "gomp");
    }

    #[test]
    fn what_is_no_baseline_is_said() {
        let error = |text: &str| format!("{:#}", Baseline::parse(text, None).unwrap_err());
        assert!(error("{}").contains("neither"), "{}", error("{}"));
        assert!(error(r#"{"schema":"lab/1"}"#).contains("lab/1"));
        assert!(error(&RESULTS.replace("central/adaptive", "central/spin")).contains("measure barriers --wide"));
    }
}
