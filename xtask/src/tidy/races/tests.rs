//! Races with and without what proves them, in memory.
use super::*;
use crate::violation::lines_of;

const PAGE: &str = "core/barrier/README.md";
const CODE: &str = "//! A.\nfn f() {\n    reached(\"barrier:1\");\n}\n";
const TESTS: &str = "//! T.\n#[test]\nfn right() {\n    assert!(hits.contains_key(\"barrier:1\"));\n}\n#[test]\nfn wrong() {}\n";
const MODELED: &str = "[[model]]\nrace = \"barrier:1\"\ntest = \"a/tests/t.rs::right\"\ncontrol = \"a/tests/t.rs::wrong\"\n";
const ASSERTED: &str = "[[asserted]]\nrace = \"barrier:1\"\ntest = \"a/tests/t.rs::right\"\n";
const SEEN: &str = "commit = \"c\"\nseeds = 7\n[[reached]]\npoint = \"barrier:1\"\nsubject = \"s\"\nseed = 3\n";

/// The violations of a page, code, `models.toml` and `reached.toml`.
fn verdict(page: &str, code: &str, models: &str, seen: &str) -> Vec<(usize, &'static str)> {
    let tree = Tree::of([
        (PAGE, page),
        ("core/barrier/src/a.rs", code),
        ("a/tests/t.rs", TESTS),
        ("conformance/models.toml", models),
        ("conformance/reached.toml", seen),
    ]);
    let (sources, unparsed) = Source::all(&tree);
    assert_eq!(unparsed, []);
    lines_of(&check(&tree, &sources))
}

#[test]
fn a_race_is_an_item_with_a_number_and_a_name() {
    for (line, expected) in [
        ("1. **Two at once.** Both", Some(("1", true))),
        ("- **T10. Late.** It", Some(("T10", true))),
        ("  12. **Within.**", Some(("12", true))),
        ("4. **Arbitration**: all", Some(("4", false))),
        ("- **T5. After an error** it", Some(("T5", false))),
        ("- **As long again.** Who", None),
        ("- **Linux 6.4** for", None),
        ("- **t1. Small.** It", None),
        ("1. Plain", None),
        ("see 1. **Two.** there", None),
    ] {
        assert_eq!(number(line), expected, "{line}");
    }
}

#[test]
fn each_proof_is_enough() {
    let page = "1. **Two at once.** Both.\n";
    for (models, seen) in [(MODELED, ""), (ASSERTED, ""), ("", SEEN)] {
        assert_eq!(verdict(page, CODE, models, seen), [], "{models}{seen}");
    }
    assert_eq!(verdict(page, "//! A.\n", MODELED, ""), [], "a model needs no point");
}

#[test]
fn a_race_without_a_row_is_found() {
    assert_eq!(verdict("1. **Two at once.**\n", CODE, "", ""), [(1, "race")], "a point is not enough");
    assert_eq!(verdict("1. **Two at once.**\n- **T2. Late.**\n", CODE, "", SEEN), [(2, "race")], "neither point nor row");
}

#[test]
fn points_and_rows_that_name_no_race_are_found() {
    assert_eq!(verdict("", CODE, "", ""), [(3, "race")], "a point");
    assert_eq!(verdict("", "//! A.\n", MODELED, ""), [(2, "race")], "a model");
    assert_eq!(verdict("", "//! A.\n", ASSERTED, ""), [(2, "race")], "an asserted one");
    assert_eq!(verdict("", "//! A.\n", "", SEEN), [(4, "race")], "a reached one");
}

#[test]
fn points_of_tests_are_none() {
    let test = "//! A.\n#[cfg(test)]\nmod tests {\n    fn f() {\n        reached(\"x:1\");\n    }\n}\n";
    assert_eq!(verdict("", test, "", ""), []);
    let page = "1. **Two at once.**\n";
    assert_eq!(verdict(page, &test.replace("x:1", "barrier:1"), "", SEEN), [(4, "race")], "so the row has no point");
    let elsewhere = "//! A.\nfn f() {\n    g.reached(above)?;\n    unreached(\"x:1\");\n    reached[\"x:1\"];\n}\n";
    assert_eq!(verdict("", elsewhere, "", ""), []);
}

#[test]
fn a_row_needs_its_test_its_control_and_its_point() {
    let page = "1. **Two at once.**\n";
    assert_eq!(verdict(page, CODE, &MODELED.replace("::right", "::gone"), ""), [(3, "race")]);
    assert_eq!(verdict(page, CODE, &MODELED.replace("t.rs::wrong", "gone.rs::wrong"), ""), [(4, "race")]);
    assert_eq!(verdict(page, CODE, &MODELED.replace("::wrong", ""), ""), [(4, "race")]);
    assert_eq!(verdict(page, CODE, &ASSERTED.replace("::right", "::gone"), ""), [(3, "race")]);
    assert_eq!(verdict(page, "//! A.\n", ASSERTED, ""), [(2, "race")], "no point");
    let two = (format!("{page}2. **Next.**\n"), CODE.replace("}\n", "reached(\"barrier:2\");\n}\n"));
    assert_eq!(verdict(&two.0, &two.1, &ASSERTED.replace(":1", ":2"), SEEN), [(3, "race")], "the test asserts another one");
    assert_eq!(verdict(page, CODE, "[[model]]\nrace = \"barrier:1\"\n", SEEN), [(1, "race")], "half a row");
    assert_eq!(verdict(page, CODE, "[[modle]]\n", SEEN), [(1, "race")], "no such kind of row");
}

#[test]
fn names_are_given_once_and_in_rooms_only() {
    assert_eq!(verdict("1. **Two.**\n1. **Three.**\n", CODE, MODELED, ""), [(2, "race")]);
    assert_eq!(verdict("1. **Two** at once.\n", "//! A.\n", "", ""), [(1, "race")], "not as the others are");
    let tree = Tree::of([("core/x/README.md", "1. **Step** one\n1. **Two at once.**\n"), ("docs/a.md", "1. **Step.**\n")]);
    assert_eq!(lines_of(&check(&tree, &[])), [(2, "race")]);
}
