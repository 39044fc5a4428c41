//! A good claim passes; each way to spoil it is found, at its line.
use super::{Paper, parse};

const GOOD: &str = r#"paper = "guignon2000"
title = "T"
authors = "A"
year = 2000
[[claim]]
id = "spin-2"
section = "2.1"
text = "Spinning is fastest."
kind = "ratio"
expected = 1.5
unit = "x"
tolerance = 0.10
tolerance-reason = "the paper's own deviation"
check = "ping-pong"
"#;

/// The lines of the violations and what they say, of the good file with `from` replaced.
fn spoilt(from: &str, to: &str) -> Vec<(usize, String)> {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replace(from, to);
    let path = "papers/guignon2000.toml";
    let found = parse::<Paper>(path, &text).map_or_else(|violation| vec![violation], |paper| paper.violations(path, &text));
    found.into_iter().map(|violation| (violation.line, violation.what)).collect()
}

fn assert_one(from: &str, to: &str, line: usize, says: &str) {
    let found = spoilt(from, to);
    assert!(matches!(&found[..], [(at, what)] if *at == line && what.contains(says)), "{from} -> {to}: {found:?}");
}

#[test]
fn sound_claims_pass() {
    let counted = "expected = 1.5\nunit = \"x\"\ntolerance = 0.10\ntolerance-reason = \"the paper's own deviation\"\n";
    assert_eq!(spoilt("id", "id"), []);
    assert_eq!(spoilt("1.5", "1"), []);
    assert_eq!(spoilt("1.5", "-1.5"), []);
    assert_eq!(spoilt(counted, "expected = \"none\"\nexpected-reason = \"only drawn\"\n"), []);
    for kind in ["ordering", "statement"] {
        assert_one(&format!("ratio\"\n{counted}"), &format!("{kind}\"\n"), 5, "nothing to judge by");
        let without = "tolerance = 0.0\ntolerance-reason = \"as it is\"\n";
        assert_one(&format!("ratio\"\n{counted}"), &format!("{kind}\"\n{without}"), 5, "relative to an `expected`");
        assert_eq!(spoilt("ratio", kind), []);
    }
}

#[test]
fn malformed_files_are_named_with_their_line() {
    assert_one("year = 2000", "year = ", 4, "");
    assert_one("year = 2000\n", "", 1, "year");
    assert_one("unit", "units", 11, "unknown field `units`");
    assert_one("year", "note = 1\nyear", 4, "unknown field `note`");
    assert_one("\"ratio\"", "\"guess\"", 9, "unknown variant `guess`");
    assert_one("1.5", "\"many\"", 10, "expected must be a number");
    assert_one("check = \"ping-pong\"\n", "", 5, "check");
}

#[test]
fn the_paper_is_named_as_its_file() {
    assert_one("guignon2000", "guignon2001", 1, "must agree");
    assert_one("\"T\"", "\" \"", 1, "which paper");
    assert_one("2000\n[", "20\n[", 1, "which paper");
    assert_one(&GOOD[GOOD.find("[[claim]]").unwrap()..], "", 1, "no claim");
}

#[test]
fn ids_are_unique_and_well_shaped() {
    let claim = &GOOD[GOOD.find("[[claim]]").unwrap()..];
    assert_one(claim, &format!("{claim}{claim}"), 15, "taken");
    for bad in ["", "spin_2", "spin 2", "-spin", "spin-", "spin--2", "späte"] {
        assert_one("spin-2", bad, 5, "letters, digits and single dashes");
    }
}

#[test]
fn every_field_says_something() {
    assert_one("Spinning is fastest.", " ", 5, "`text`");
    assert_one("2.1", "", 5, "`section`");
    assert_one("ping-pong", "", 5, "`check`");
    assert_one("\"x\"", "\"\"", 5, "`unit`");
    assert_one("check", "differs-because = \"\"\ncheck", 5, "`differs-because`");
    assert_one("check", "fitted-because = \" \"\ncheck", 5, "`fitted-because`");
    assert_one("check", "fitted-because = \"a\"\ndiffers-because = \"b\"\ncheck", 5, "name one of");
    assert_one("check", "given-because = \"\"\ncheck", 5, "`given-because`");
    assert_one("check", "fitted-because = \"a\"\ngiven-because = \"b\"\ncheck", 5, "name one of");
    assert_eq!(spoilt("check", "fitted-because = \"its length was chosen for it\"\ncheck"), []);
}

#[test]
fn numbers_are_given_with_their_reasons() {
    assert_one("expected = 1.5\n", "", 5, "needs `expected`");
    assert_one("1.5", "\"none\"", 5, "needs an `expected-reason`");
    assert_one("unit", "expected-reason = \"why\"\nunit", 5, "goes with");
    assert_one("1.5", "inf", 5, "finite");
    assert_one(
        "tolerance = 0.10\ntolerance-reason = \"the paper's own deviation\"\n",
        "",
        5,
        "needs a `tolerance` or a threshold",
    );
    assert_one("tolerance-reason = \"the paper's own deviation\"\n", "", 5, "needs a `tolerance-reason`");
    assert_one("the paper's own deviation", "", 5, "needs a `tolerance-reason`");
    assert_one("0.10", "-0.10", 5, "not negative");
    assert_one("0.10", "nan", 5, "finite");
}

#[test]
fn one_threshold_takes_the_place_of_a_tolerance() {
    let counted = "expected = 1.5\nunit = \"x\"\ntolerance = 0.10";
    for threshold in ["at-least = 3", "at-most = -1.5", "between = [1, 2]", "between = [1, 1]"] {
        assert_eq!(spoilt(counted, threshold), []);
    }
    assert_one("tolerance =", "at-least = 1\ntolerance =", 5, "name one of");
    assert_one(counted, "at-least = 1\nat-most = 2", 5, "name one of");
    assert_one(counted, "between = [2, 1]", 5, "least to the most");
    assert_one(counted, "at-least = inf", 5, "finite");
    assert_one(counted, "between = [1]", 10, "");
    let reason = format!("{counted}\ntolerance-reason = \"the paper's own deviation\"");
    assert_one(&reason, "at-least = 3", 5, "needs a `tolerance-reason`");
    let yes_no = |rest: &str| format!("yes-no\"\n{rest}");
    let all = format!("ratio\"\n{reason}");
    assert_eq!(spoilt(&all, &yes_no("fails-with = \"a-mutant\"")), []);
    assert_one(&all, &yes_no("fails-with = 1.5"), 5, "no number to fail with");
    assert_one("ratio", "yes-no", 5, "no threshold");
}
