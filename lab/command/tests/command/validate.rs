//! `measure barriers --validate`: what it prints and how it ends. What it finds depends on the machine, and
//! is not tested.
use crate::{json, run, stderr, validate};

/// As short as it gets.
fn quick(rows: &str, more: &[&str]) -> std::process::Output {
    let args = ["measure", "barriers", "--validate", "--rows", rows, "--ms", "2", "--repetitions", "1"];
    run(&[&args[..], more].concat())
}

#[test]
fn a_row_is_a_valid_document_with_both_sides_of_every_cell() {
    let document = json(&quick("V2", &["--format", "json"]));
    validate(&document, "results.schema.json");
    assert_eq!(document["experiment"], "measure barriers --validate");
    let measurements = document["measurements"].as_array().unwrap();
    for budget in ["AB", "CS", "2CS+", "10CS", "always"] {
        for kind in ["measured", "simulated"] {
            let id = format!("validate/V2/alone/{budget}/{kind}");
            let cell = measurements.iter().find(|m| m["id"] == *id).unwrap_or_else(|| panic!("{id} is missing"));
            let labels = ["row", "case", "budget", "kind"].map(|label| cell["labels"][label].as_str().unwrap());
            assert_eq!(labels, ["V2", "alone", budget, kind]);
            assert!(cell["summary"]["p50"].as_f64().unwrap() > 10.0, "{cell}");
            assert_eq!(cell["figures"]["time_over_ab"].is_f64(), budget != "AB", "{cell}");
        }
    }
    let row = measurements.iter().find(|m| m["id"] == "validate-row/V2").unwrap();
    assert!(row["figures"]["geomean"].as_f64().unwrap() >= 1.0 && row["values"].as_array().unwrap().len() == 4, "{row}");
    let note = document["notes"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(note.ends_with("of 1 rows within 1.5"), "{note}");
}

#[test]
fn people_get_a_table_and_the_verdict() {
    let output = quick("v1", &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(said.lines().next().map(words).unwrap()[..3], ["row", "case", "budget"], "{said}");
    assert_eq!(said.lines().last().map(words).unwrap()[1..], ["of", "1", "rows", "within", "1.5"], "{said}");
}

/// A row that needs more than this machine gives is not within, and a check fails over it.
#[test]
fn what_cannot_be_run_is_said_and_not_counted() {
    let output = std::thread::spawn(|| {
        let allowed = foregather_host::affinity::allowed();
        foregather_host::affinity::pin(allowed[0]).unwrap();
        quick("V3;V7", &["--check"])
    });
    let output = output.join().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("0 of 2 rows within") && said.contains("needs 2 processors"), "{said}");
    assert!(stderr(&output).contains("V7 is not compared"), "{}", stderr(&output));
}
