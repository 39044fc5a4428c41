//! Numbers that were measured on this machine and are kept from run to run: a small file for each library,
//! beside the machine's costs.
//!
//! One wrong measurement must not slow a machine forever. So each number keeps its last measurements, and
//! one that is outside of the usual range is used only if two further measurements confirm it.
use crate::{costs, facts, regular};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// How many measurements of a number are kept: one, and two that confirm it.
const MEASUREMENTS: usize = 3;
/// Measurements that confirm each other differ by this factor at most.
const AGREE: u64 = 2;

/// Measured numbers by their names.
pub type Numbers = BTreeMap<String, KeptNumber>;

/// The last measurements of one number, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptNumber(Vec<u64>);

impl KeptNumber {
    /// No measurement.
    pub const NONE: Self = Self(Vec::new());

    /// One measurement.
    pub fn once(value: u64) -> Self {
        Self(vec![value])
    }

    /// Adds a measurement; forgets the oldest one if there are too many.
    pub fn add(&mut self, value: u64) {
        self.0.push(value);
        let excess = self.0.len().saturating_sub(MEASUREMENTS);
        self.0.drain(..excess);
    }

    /// Returns the newest measurement; 0 if there is none.
    pub fn newest(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// Returns whether the newest measurement may be used as it is: it is usual, or two others confirm it.
    pub fn is_confirmed(&self, [least, most]: [u64; 2]) -> bool {
        let (low, high) = (self.0.iter().min().copied().unwrap_or(0), self.0.iter().max().copied().unwrap_or(0));
        let agree = || high <= low.saturating_mul(AGREE);
        (least..=most).contains(&self.newest()) || self.is_complete() && agree()
    }

    /// Returns whether there is no measurement.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether there are as many measurements as are kept.
    pub fn is_complete(&self) -> bool {
        self.0.len() == MEASUREMENTS
    }

    /// Returns the value to use: the newest measurement if it is confirmed, otherwise the nearest usual
    /// value.
    pub fn value(&self, usual: [u64; 2]) -> u64 {
        let newest = self.newest();
        if self.is_confirmed(usual) { newest } else { newest.clamp(usual[0], usual[1]) }
    }

    /// The measurements as JSON.
    pub(crate) fn to_json(&self) -> Value {
        json!(self.0)
    }

    /// Reads measurements: one number, or an array of them.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let all: Vec<u64> = match value {
            Value::Array(all) => all.iter().map(Value::as_u64).collect::<Option<_>>()?,
            one => vec![one.as_u64()?],
        };
        (1..=MEASUREMENTS).contains(&all.len()).then_some(Self(all))
    }
}

/// The file of that library's numbers: beside the machine's costs, `machine.NAME.json` if those are in
/// `machine.json`.
pub fn path(name: &str) -> Option<PathBuf> {
    costs::path().map(|path| path.with_extension(format!("{name}.json")))
}

/// The numbers kept under that name and schema for this very machine. A missing file is no error: then there
/// are no numbers.
///
/// # Errors
/// Why the kept numbers cannot be used; they must be measured again.
pub fn load(name: &str, schema: &str) -> Result<Numbers, String> {
    let Some(path) = path(name) else { return Ok(Numbers::new()) };
    let text = match regular::read_text(&path, costs::MOST_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Numbers::new()),
        Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
    };
    parse(&text, schema).map_err(|why| format!("{} is ignored: {why}", path.display()))
}

/// Keeps numbers, in one piece: a reader sees the old file or the whole new one. Returns its path.
///
/// # Errors
/// If there is no place for them, or the file cannot be written.
pub fn store(name: &str, schema: &str, numbers: &Numbers) -> io::Result<PathBuf> {
    let nowhere = || io::Error::new(ErrorKind::NotFound, "no cache folder: set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE");
    let path = path(name).ok_or_else(nowhere)?;
    costs::write(&path, &text(schema, numbers))?;
    Ok(path)
}

fn text(schema: &str, numbers: &Numbers) -> String {
    let (model, kernel) = facts::model_and_kernel();
    let numbers: Map<String, Value> = numbers.iter().map(|(name, number)| (name.clone(), number.to_json())).collect();
    let file = json!({ "schema": schema, "cpu": model, "kernel": kernel, "numbers": numbers });
    format!("{file:#}\n")
}

fn parse(text: &str, schema: &str) -> Result<Numbers, String> {
    let kept: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (model, kernel) = facts::model_and_kernel();
    if kept["schema"].as_str() != Some(schema) {
        return Err(format!("its schema is {}, not {schema:?}", kept["schema"]));
    }
    if kept["cpu"].as_str() != model.as_deref() || kept["kernel"].as_str() != Some(&kernel) {
        return Err("it was measured on another processor or kernel".to_owned());
    }
    let numbers = kept["numbers"].as_object().ok_or("it has no numbers")?;
    let number = |(name, value): (&String, &Value)| {
        let measured = KeptNumber::from_json(value).ok_or_else(|| format!("{name:?} is {value}, not 1 to 3 whole numbers"))?;
        Ok((name.clone(), measured))
    };
    numbers.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "foregather.test/1";

    #[test]
    fn numbers_come_back_as_they_were_kept() {
        let mut twice = KeptNumber::once(7);
        twice.add(8);
        let numbers = Numbers::from([("dot".to_owned(), twice), ("gemm".to_owned(), KeptNumber::once(u64::MAX))]);
        assert_eq!(parse(&text(SCHEMA, &numbers), SCHEMA), Ok(numbers));
        let old = text(SCHEMA, &Numbers::from([("dot".to_owned(), KeptNumber::once(7))])).replace("[\n      7\n    ]", "7");
        assert!(old.contains(": 7"), "{old}");
        assert_eq!(parse(&old, SCHEMA).unwrap()["dot"], KeptNumber::once(7), "one number is one measurement");
    }

    #[test]
    fn an_unusual_measurement_is_used_after_two_that_confirm_it() {
        let usual = [10, 90];
        let mut measured = KeptNumber::once(30);
        assert_eq!((measured.value(usual), measured.is_confirmed(usual)), (30, true));
        measured.add(500);
        assert_eq!((measured.value(usual), measured.is_confirmed(usual)), (90, false));
        measured.add(600);
        assert_eq!(measured.value(usual), 90, "an older measurement disagrees");
        measured.add(400);
        assert_eq!((measured.value(usual), measured.is_confirmed(usual)), (400, true));
        measured.add(2);
        assert_eq!((measured.value(usual), measured.is_complete()), (10, true));
        measured.add(50);
        assert_eq!(measured.value(usual), 50, "a usual one needs no confirmation");
        assert_eq!(KeptNumber::default().value(usual), 10);
    }

    #[test]
    fn what_is_of_another_schema_or_machine_or_malformed_is_ignored_with_its_reason() {
        let numbers = Numbers::from([("dot".to_owned(), KeptNumber::once(7))]);
        let good: Value = serde_json::from_str(&text(SCHEMA, &numbers)).unwrap();
        for (key, value, why) in [
            ("schema", json!("foregather.test/0"), "foregather.test/0"),
            ("kernel", json!("another"), "another processor or kernel"),
            ("cpu", json!("another"), "another processor or kernel"),
            ("numbers", json!([1]), "no numbers"),
            ("numbers", json!({ "dot": -1 }), "dot"),
            ("numbers", json!({ "dot": [] }), "dot"),
            ("numbers", json!({ "dot": [1, 2, 3, 4] }), "dot"),
            ("numbers", json!({ "dot": [1, "2"] }), "dot"),
        ] {
            let mut wrong = good.clone();
            wrong[key] = value;
            let error = parse(&wrong.to_string(), SCHEMA).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(parse("{\"schema\": ", SCHEMA).is_err());
    }
}
