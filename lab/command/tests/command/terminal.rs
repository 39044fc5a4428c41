//! What a narrow terminal shows, and where it says what to do.
use crate::simulate::{SMALL, plan};
use crate::{foregather, run, stderr};
use std::process::Output;

const COLUMNS: usize = 60;

fn narrow(args: &[&str]) -> (Output, String) {
    let output = foregather(args).env("COLUMNS", COLUMNS.to_string()).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, out)
}

/// Lines that are wider have one long word, such as a command to paste.
#[track_caller]
fn fits(text: &str) {
    for line in text.lines().filter(|line| line.chars().count() > COLUMNS) {
        let whole = line.contains('`') || line.trim().split(' ').count() <= 2;
        assert!(whole, "{line:?} in\n{text}");
    }
}

#[test]
fn the_doctor_fits_wherever_it_prints_and_says_first_what_is_missing() {
    for columns in [Some("60"), Some("20"), None] {
        let mut command = foregather(&["doctor", "--peers"]);
        // No program of peers, no locale, no terminal.
        command.env("FOREGATHER_PEERS", "/no/such/program").env_remove("COLUMNS").env("LC_ALL", "C").env("TERM", "xterm");
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        let output = command.output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && out.is_ascii() && !out.contains('\u{1b}'), "{out}");
        let one_line = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.starts_with("Foregather works here"), "{out}");
        assert!(one_line.contains("- without the program of peers: no comparison with OpenMP runtimes"), "{out}");
        assert!(out.contains("-> `cargo build --release --locked -p foregather-peers`"), "{out}");
        assert!(out.find("- without ").unwrap() < out.find("processor").unwrap(), "{out}");
        if columns != Some("20") {
            fits(&out);
        }
    }
}

/// The keys and the rows of machines are what they have always been.
#[test]
fn programs_read_the_diagnosis_by_its_keys() {
    let output = run(&["doctor", "--format", "csv"]);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(",what,found,remedy\n"), "{output:?}");
    let document = crate::json(&run(&["doctor", "--format", "json"]));
    let check = document["checks"][0].as_object().unwrap();
    assert_eq!(check.keys().collect::<Vec<_>>(), ["found", "name", "remedy", "status"]);
}

#[test]
fn tables_wrap_and_csv_does_not() {
    let plan = plan("narrow.toml", SMALL);
    let (output, out) = narrow(&["measure", "noise", "--seconds", "0.05"]);
    assert!(output.status.success() && out.lines().nth(1).is_some_and(|line| line.starts_with("  ")), "{out}");
    fits(&out);
    fits(&stderr(&output));
    let (output, out) = narrow(&["simulate", &plan, "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    fits(&out);
    fits(&stderr(&output));
    fits(&narrow(&["simulate", "--list"]).1);
    let (_, csv) = narrow(&["simulate", &plan, "--quiet", "--format", "csv"]);
    let columns = |line: &str| line.matches(',').count();
    assert!(csv.lines().all(|line| columns(line) >= columns(csv.lines().next().unwrap())), "{csv}");
}

#[test]
fn plans_are_listed_in_columns_where_none_is_meant() {
    let (output, _) = narrow(&["simulate", "nope"]);
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("\n  fig1 ") && said.contains("barriers-modern"), "{said}");
    fits(&said);
}

#[test]
fn only_what_has_a_meaning_is_offered() {
    let help = |verb: &str| String::from_utf8_lossy(&run(&[verb, "--help"]).stdout).into_owned();
    for verb in ["run", "man", "completions"] {
        assert!(!help(verb).contains("--format"), "{verb}");
    }
    assert!(help("doctor").contains("--format"));
    assert!(help("man").contains("foregather man | man -l -"));
    let (_, out) = narrow(&["run", "--help"]);
    assert!(out.contains("one line per host"), "{out}");
}
