//! Results as documents: valid by the schema in the repository, read back as written, refused with a reason.
use crate::sample;

use foregather_results::{Measurement, Provenance, Results, Run, output, table};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const RESULTS: &str = "../results/schema/results.schema.json";
const REPRODUCTION: &str = "../results/schema/reproduction.schema.json";

/// Checks the document against the schema. The error explains the violation.
fn check(schema: &str, document: &Value) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(schema);
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let index = compiler.compile(path.to_str().expect("the path is text"), &mut schemas).map_err(|e| format!("{e:#}"))?;
    schemas.validate(document, index).map_err(|e| format!("{e:#}"))
}

fn parsed(results: &Results) -> Value {
    serde_json::from_str(&results.to_json()).expect("what was written is JSON")
}

/// A directory of this test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("foregather-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory is writable");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_produced_follows_the_schema() {
    for results in [
        sample::waits(),
        sample::barriers(1),
        sample::butterfly(),
        sample::reproduction(),
        sample::messages::messages(),
        sample::dsm::dsm(),
        sample::simulated::plans(),
        crate::timelines::played(),
    ] {
        check(RESULTS, &parsed(&results)).unwrap_or_else(|why| panic!("{}: {why}", results.experiment));
    }
    let verdicts = serde_json::to_value(sample::reproduction().verdicts).unwrap();
    check(REPRODUCTION, &verdicts).unwrap();
}

#[test]
fn what_this_machine_says_of_itself_follows_the_schema() {
    let run = Run::begin("measure waits", Some(7));
    let mut results = run.end(true, vec![Measurement::from_values("none", "nothing", "us", vec![])], vec![], vec![]);
    check(RESULTS, &parsed(&results)).unwrap();
    assert!(results.started_unix_s > 1_700_000_000 && results.seconds > 0.0 && !results.argv.is_empty());
    results.provenance = Provenance::default();
    check(RESULTS, &parsed(&results)).unwrap();
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let good = parsed(&sample::reproduction());
    check(RESULTS, &good).unwrap();
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        assert!(check(RESULTS, &document).is_err(), "{document}");
    };
    broken(&|d| d["schema"] = "foregather.results/2".into());
    broken(&|d| d["surprise"] = 1.into());
    broken(&|d| d["noise"]["verdict"] = "fine".into());
    broken(&|d| d["verdicts"][0]["verdict"] = "maybe".into());
    broken(&|d| drop(d["provenance"].as_object_mut().unwrap().remove("kernel")));
    broken(&|d| d["measurements"] = serde_json::json!([{ "id": "a" }]));
    let verdicts = |change: &dyn Fn(&mut Value)| {
        let mut list = good["verdicts"].clone();
        change(&mut list);
        assert!(check(REPRODUCTION, &list).is_err(), "{list}");
    };
    verdicts(&|l| l[0]["expected"] = true.into());
    verdicts(&|l| l[0]["reason"] = Value::Null);
}

#[test]
fn a_verdict_is_the_same_in_both_schemas() {
    let read = |schema: &str| -> Value {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(schema)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(read(RESULTS)["$defs"]["verdict"], read(REPRODUCTION)["$defs"]["verdict"]);
}

#[test]
fn what_was_written_is_read_back() {
    let scratch = Scratch::new("written");
    let path = scratch.0.join("results.json");
    for results in [sample::waits(), sample::barriers(1), sample::reproduction()] {
        results.write(&path).unwrap();
        assert!(Results::read(&path).unwrap() == results, "{}", results.experiment);
    }
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1, "nothing is left beside the file");
}

#[test]
fn files_that_cannot_be_written_are_named_and_special_ones_kept() {
    let scratch = Scratch::new("unwritable");
    let missing = scratch.0.join("no/such/results.json");
    let error = format!("{:#}", sample::reproduction().write(&missing).unwrap_err());
    assert!(error.contains("no/such/results.json"), "{error}");
    let error = format!("{:#}", sample::reproduction().write(&scratch.0).unwrap_err());
    assert!(error.contains(scratch.0.to_str().unwrap()), "a directory: {error}");
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    let (real, link) = (scratch.0.join("real"), scratch.0.join("link"));
    fs::write(&real, "old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    output::write(&link, "new").unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    output::write(Path::new("/dev/null"), "text").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn files_that_are_no_results_are_refused_with_a_reason() {
    let good = sample::reproduction().to_json();
    let refused = |text: &str, why: &str| {
        let error = format!("{:#}", Results::parse(text).unwrap_err());
        assert!(error.contains(why), "{why:?} is not in {error:?}");
    };
    refused("", "cut short");
    refused(&good[..good.len() / 2], "cut short");
    refused("[1, 2]", "JSON object");
    refused("{}", "no \"schema\"");
    refused("{\"schema\": \"lab.results/1\"}", "\"lab.results/1\"");
    refused(&good.replace("results/1", "results/2"), "reads \"foregather.results/1\" only");
    refused(&good.replacen("\"seed\"", "\"sead\"", 1), "sead");
    let twice = good.replacen("\"measurements\":[]", &format!("\"measurements\":[{0},{0}]", one("twice")), 1);
    refused(&twice, "\"twice\"");
    let error = format!("{:#}", Results::read(Path::new("/no/such/file.json")).unwrap_err());
    assert!(error.contains("/no/such/file.json"), "{error}");
    Results::parse(&good).unwrap();
}

fn one(id: &str) -> String {
    serde_json::to_string(&Measurement::from_values(id, "time", "us", vec![1.0])).unwrap()
}

#[test]
fn a_table_shows_what_varies_and_obeys_no_control_character() {
    let text = sample::barriers(1).to_table();
    let first = text.lines().next().unwrap();
    for column in ["row", "waiter", "p50", "cpu_us_per_episode", "share", "ssr"] {
        assert!(first.contains(column), "{column} is missing in {first}");
    }
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let unit = first.find("unit").unwrap();
    assert!(lines[1..].iter().all(|line| line[unit..].starts_with("us")), "columns are aligned:\n{}", lines[..5].join("\n"));
    let mut hostile = sample::empty("x");
    hostile.notes.clear();
    let same = |id: &str| Measurement::from_values(id, "time", "us", vec![0.001_23]).label("what", "same");
    hostile.measurements = vec![same("a\u{1b}[2J"), same("b")];
    let text = hostile.to_table();
    assert!(text.contains("a\u{fffd}[2J") && !text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains("0.00123"), "small values keep their digits: {text}");
    assert!(table::verdicts(&sample::reproduction().verdicts).to_text().contains("not comparable"));
}

#[test]
fn csv_has_every_label_and_figure_and_quotes_what_needs_it() {
    let mut results = sample::barriers(1);
    results.measurements.truncate(2);
    results.measurements[0].what = "time, \"per\" episode".to_owned();
    let csv = results.to_csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    let start = "id,what,class,kind,row,threads,waiter,unit,n,min,mean,p50,p90,p99,max,cpu_us_per_episode,exit_skew_ns,oracle_share,share,ssr";
    assert_eq!(lines[0], start);
    assert!(lines[1].contains("\"time, \"\"per\"\" episode\"") && lines[1].contains("\"2t pinned, 1 us\""), "{}", lines[1]);
}
