//! Numbers that a library has measured on this machine and need not measure again: a small file for each
//! library, beside the machine's costs.
use crate::{costs, facts, regular};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Numbers by their names.
pub type Numbers = BTreeMap<String, u64>;

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
    let numbers: Map<String, Value> = numbers.iter().map(|(name, &number)| (name.clone(), number.into())).collect();
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
        value.as_u64().map(|value| (name.clone(), value)).ok_or_else(|| format!("{name:?} is {value}, not a whole number"))
    };
    numbers.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "foregather.test/1";

    #[test]
    fn numbers_come_back_as_they_were_kept() {
        let numbers = Numbers::from([("dot".to_owned(), 7), ("gemm".to_owned(), u64::MAX)]);
        assert_eq!(parse(&text(SCHEMA, &numbers), SCHEMA), Ok(numbers));
    }

    #[test]
    fn what_is_of_another_schema_or_machine_or_malformed_is_ignored_with_its_reason() {
        let good: Value = serde_json::from_str(&text(SCHEMA, &Numbers::from([("dot".to_owned(), 7)]))).unwrap();
        for (key, value, why) in [
            ("schema", json!("foregather.test/0"), "foregather.test/0"),
            ("kernel", json!("another"), "another processor or kernel"),
            ("cpu", json!("another"), "another processor or kernel"),
            ("numbers", json!([1]), "no numbers"),
            ("numbers", json!({ "dot": -1 }), "dot"),
        ] {
            let mut wrong = good.clone();
            wrong[key] = value;
            let error = parse(&wrong.to_string(), SCHEMA).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(parse("{\"schema\": ", SCHEMA).is_err());
    }
}
