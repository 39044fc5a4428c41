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
        let whole = line.contains('`') || line.starts_with("apt-get install ") || line.trim().split(' ').count() <= 2;
        assert!(whole, "{line:?} in\n{text}");
    }
}

#[test]
fn the_doctor_fits_and_says_last_what_is_missing_and_how_to_install_it() {
    let (output, out) = narrow(&["doctor"]);
    assert!(output.status.success());
    fits(&out);
    let marks: Vec<&str> =
        out.lines().filter_map(|line| ["ok ", "note ", "missing "].into_iter().find(|mark| line.starts_with(mark))).collect();
    let first = marks.iter().position(|mark| *mark == "missing ").unwrap_or(marks.len());
    assert!(marks[first..].iter().all(|mark| *mark == "missing "), "{out}");
    if out.contains("(Debian: ") {
        assert!(out.lines().last().unwrap().starts_with("apt-get install "), "{out}");
    }
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
    assert!(out.contains("launcher of ours"), "{out}");
}
