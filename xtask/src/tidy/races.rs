//! Every race that a README names is proven to be tried: `conformance/README.md` says how.
//!
//! A race is a list item `7. **Name.**` or `- **T7. Name.**` of a room's README. It has a row in
//! `conformance/models.toml`, or a point in the code, `reached("room:7")`, and a row in
//! `conformance/reached.toml`. A row or a point that names no race is an error, too.
use crate::source::{Source, each_level, is_for_tests};
use crate::tree::Tree;
use crate::violation::Violation;
use core::ops::RangeInclusive;
use proc_macro2::{Delimiter, TokenTree};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;
use toml::Spanned;

/// The rooms that name races, and where.
const ROOMS: [(&str, &str); 13] = [
    ("adaptive", "core/wait/src/adaptive/README.md"),
    ("barrier", "core/barrier/README.md"),
    ("broadcast", "core/message/src/broadcast/README.md"),
    ("handles", "faces/c/src/slots/README.md"),
    ("lanes", "worlds/shm/src/fabric/README.md"),
    ("link", "core/message/src/link/README.md"),
    ("messenger", "core/message/src/messenger/README.md"),
    ("openmp", "systems/openmp/README.md"),
    ("pages", "systems/dsm/src/protocol/README.md"),
    ("task", "core/task/README.md"),
    ("team", "systems/team/README.md"),
    ("thread", "worlds/thread/README.md"),
    ("views", "systems/dsm/src/views/README.md"),
];
const README: &str = "README.md";
const MARK: &str = "reached";
const RULE: &str = "race";

/// Where something stands: a path and a line.
type PathLine<'a> = (&'a str, usize);

/// Races without a proof, and proofs without a race.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let races = named(tree, &mut violations);
    let points = points(sources);
    for (point, &(path, line)) in points.iter().filter(|(point, _)| !races.contains_key(*point)) {
        violations.push(Violation::new(path, line, RULE, format!("`{point}` is no race of a README: name it there")));
    }
    let rows = RaceTable::of(tree, &mut violations);
    violations.extend(rows.check(sources, &races.keys().cloned().collect(), &points.keys().cloned().collect()));
    let proven = rows.proven();
    for (race, &(path, line)) in races.iter().filter(|(race, _)| !proven.contains(race.as_str())) {
        let what = if points.contains_key(race) {
            format!("nothing says that `{race}` was reached: a row in conformance/reached.toml, or in conformance/models.toml")
        } else {
            format!(
                "nothing proves `{race}`: put `reached(\"{race}\")` where it is dealt with, or a row in conformance/models.toml"
            )
        };
        violations.push(Violation::new(path, line, RULE, what));
    }
    violations
}

/// The races by their names, `room:number`.
fn named<'a>(tree: &'a Tree, violations: &mut Vec<Violation>) -> BTreeMap<String, PathLine<'a>> {
    let mut races = BTreeMap::new();
    for (path, text) in tree.ending(README) {
        let room = ROOMS.iter().find(|(_, readme)| *readme == path);
        for (at, line) in text.lines().enumerate() {
            let Some((number, whole)) = number(line) else { continue };
            let wrong = match room {
                None if !whole => continue,
                None => "a race of a page that has no room: give it one in xtask/src/tidy/races.rs",
                Some(_) if !whole => "name the race as the others are: `7. **Name.**`, or `- **T7. Name.**`",
                Some((room, _)) => match races.insert(format!("{room}:{number}"), (path, at + 1)) {
                    None => continue,
                    Some(_) => "another race of this page has that number",
                },
            };
            violations.push(Violation::new(path, at + 1, RULE, wrong));
        }
    }
    races
}

/// The number of the race that a line names: `7` of `7. **Name.**`, `T7` of `- **T7. Name.**`; and whether
/// its name ends as it should.
fn number(line: &str) -> Option<(&str, bool)> {
    let line = line.trim_start();
    let (number, bold, letters) = match line.strip_prefix("- **") {
        Some(rest) => rest.split_once(". ").map(|(number, rest)| (number, rest, 1))?,
        None => line.split_once(". **").map(|(number, rest)| (number, rest, 0))?,
    };
    let (letter, digits) = (number.get(..letters)?, number.get(letters..)?);
    let is_number =
        letter.chars().all(|c| c.is_ascii_uppercase()) && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    is_number.then(|| (number, bold.split_once("**").is_some_and(|(name, _)| name.ends_with('.'))))
}

/// The points of the code, tests left out, and where each stands first.
fn points<'a>(sources: &[Source<'a>]) -> BTreeMap<String, PathLine<'a>> {
    let mut points = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.test) {
        let mut tests = Vec::new();
        test_lines(&source.file.items, &mut tests);
        each_level(source.tokens.clone(), &mut |level| {
            for pair in level.windows(2) {
                if let Some((point, line)) = point(pair).filter(|(_, line)| !tests.iter().any(|lines| lines.contains(line))) {
                    points.entry(point).or_insert((source.path, line));
                }
            }
        });
    }
    points
}

/// What `reached("..")` names, and its line.
fn point(pair: &[TokenTree]) -> Option<(String, usize)> {
    let [TokenTree::Ident(mark), TokenTree::Group(group)] = pair else { return None };
    let Some(TokenTree::Literal(literal)) = group.stream().into_iter().next() else { return None };
    let text = literal.to_string();
    let name = text.strip_prefix('"')?.strip_suffix('"')?;
    (mark == MARK && group.delimiter() == Delimiter::Parenthesis).then(|| (name.to_owned(), mark.span().start().line))
}

/// The lines of the modules that are for tests.
fn test_lines(items: &[Item], lines: &mut Vec<RangeInclusive<usize>>) {
    for item in items {
        let Item::Mod(module) = item else { continue };
        let Some((brace, items)) = &module.content else { continue };
        if is_for_tests(&module.attrs) {
            lines.push(brace.span.open().start().line..=brace.span.close().end().line);
        } else {
            test_lines(items, lines);
        }
    }
}

/// The functions of a file, those of macros too.
fn functions(source: &Source<'_>) -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    each_level(source.tokens.clone(), &mut |level| {
        for pair in level.windows(2) {
            if let [TokenTree::Ident(word), TokenTree::Ident(name)] = pair
                && word == "fn"
            {
                functions.insert(name.to_string());
            }
        }
    });
    functions
}

const MODELS: &str = "conformance/models.toml";
const REACHED: &str = "conformance/reached.toml";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRows {
    #[serde(default)]
    model: Vec<ModelRow>,
    #[serde(default)]
    asserted: Vec<AssertedRow>,
}

/// A test that tries all orders or many, and the same with a mistake, which must be found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    race: Spanned<String>,
    test: Spanned<String>,
    control: Spanned<String>,
}

/// A test on real threads or processes, or of a scripted order, which asserts that it has reached the race's
/// point.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssertedRow {
    race: Spanned<String>,
    test: Spanned<String>,
}

/// What the swarm writes beside the points is its own.
#[derive(Default, Deserialize)]
struct ReachedRows {
    #[serde(default)]
    reached: Vec<ReachedRow>,
}

#[derive(Deserialize)]
struct ReachedRow {
    point: Spanned<String>,
}

/// All rows, with the texts that they stand in.
#[derive(Default)]
pub(super) struct RaceTable<'a> {
    models: ModelRows,
    reached: ReachedRows,
    models_text: &'a str,
    reached_text: &'a str,
}

impl<'a> RaceTable<'a> {
    /// Those of the tree; a file that is not there has none.
    pub(super) fn of(tree: &'a Tree, violations: &mut Vec<Violation>) -> Self {
        let (models_text, reached_text) = (tree.text(MODELS).unwrap_or_default(), tree.text(REACHED).unwrap_or_default());
        let models = parse(MODELS, models_text, violations);
        let reached = parse(REACHED, reached_text, violations);
        Self { models, reached, models_text, reached_text }
    }

    /// The races that have a row.
    pub(super) fn proven(&self) -> BTreeSet<&str> {
        let models = self.models.model.iter().map(|row| &row.race).chain(self.models.asserted.iter().map(|row| &row.race));
        models.chain(self.reached.reached.iter().map(|row| &row.point)).map(|name| name.get_ref().as_str()).collect()
    }

    /// Rows that name no race, no test, or no point.
    pub(super) fn check(&self, sources: &[Source<'_>], races: &BTreeSet<String>, points: &BTreeSet<String>) -> Vec<Violation> {
        let mut found = Vec::new();
        let at_models =
            |name: &Spanned<String>, what: String| Violation::new(MODELS, line_of(self.models_text, name), RULE, what);
        for ModelRow { race, test, control } in &self.models.model {
            found.extend(no_race(race, races).map(|what| at_models(race, what)));
            for test in [test, control] {
                found.extend(no_test(test, sources).map(|what| at_models(test, what)));
            }
        }
        for AssertedRow { race, test } in &self.models.asserted {
            found.extend(no_race(race, races).or_else(|| no_point(race, points)).map(|what| at_models(race, what)));
            found.extend(no_test(test, sources).or_else(|| no_assertion(race, test, sources)).map(|what| at_models(test, what)));
        }
        for ReachedRow { point } in &self.reached.reached {
            let what = no_race(point, races).or_else(|| no_point(point, points));
            found.extend(what.map(|what| Violation::new(REACHED, line_of(self.reached_text, point), RULE, what)));
        }
        found
    }
}

fn parse<T: Default + DeserializeOwned>(path: &str, text: &str, violations: &mut Vec<Violation>) -> T {
    toml::from_str(text).unwrap_or_else(|error| {
        let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
        violations.push(Violation::new(path, line, RULE, error.message()));
        T::default()
    })
}

fn line_of(text: &str, name: &Spanned<String>) -> usize {
    text[..name.span().start].matches('\n').count() + 1
}

fn no_race(name: &Spanned<String>, races: &BTreeSet<String>) -> Option<String> {
    let name = name.get_ref();
    (!races.contains(name)).then(|| format!("`{name}` is no race of a README: name it there, or take the row out"))
}

fn no_point(name: &Spanned<String>, points: &BTreeSet<String>) -> Option<String> {
    let name = name.get_ref();
    (!points.contains(name)).then(|| format!("no code outside tests says `reached(\"{name}\")`"))
}

/// `path::function`, apart.
fn parts(test: &Spanned<String>) -> Option<(&str, &str)> {
    test.get_ref().split_once("::")
}

fn no_test(test: &Spanned<String>, sources: &[Source<'_>]) -> Option<String> {
    let is_there = parts(test)
        .is_some_and(|(path, function)| sources.iter().any(|source| source.path == path && functions(source).contains(function)));
    (!is_there).then(|| format!("there is no function `{}`", test.get_ref()))
}

fn no_assertion(race: &Spanned<String>, test: &Spanned<String>, sources: &[Source<'_>]) -> Option<String> {
    let (path, _) = parts(test)?;
    let quoted = format!("\"{}\"", race.get_ref());
    let asserts = sources.iter().any(|source| source.path == path && source.text.contains(&quoted));
    (!asserts).then(|| format!("{path} does not assert that {quoted} was reached"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    const PAGE: &str = "core/barrier/README.md";
    const CODE: &str = "//! A.\nfn f() {\n    reached(\"barrier:1\");\n}\n";
    const TESTS: &str =
        "//! T.\n#[test]\nfn right() {\n    assert!(hits.contains_key(\"barrier:1\"));\n}\n#[test]\nfn wrong() {}\n";
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
}
