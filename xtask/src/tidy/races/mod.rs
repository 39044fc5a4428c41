//! Every race that a README names is proven to be tried: `conformance/README.md` says how.
//!
//! A race is a list item `7. **Name.**` or `- **T7. Name.**` of a room's README. It has a row in `conformance/models.toml`, or a point
//! in the code, `reached("room:7")`, and a row in `conformance/reached.toml`. A row or a point that names no race is an error, too.
mod rows;

use crate::source::{Source, each_level, is_for_tests};
use crate::tree::Tree;
use crate::violation::Violation;
use core::ops::RangeInclusive;
use proc_macro2::{Delimiter, TokenTree};
use rows::Rows;
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;

/// The rooms that name races, and where.
const ROOMS: [(&str, &str); 9] = [
    ("adaptive", "core/wait/src/adaptive/README.md"),
    ("barrier", "core/barrier/README.md"),
    ("lanes", "worlds/shm/src/fabric/README.md"),
    ("link", "core/message/src/link/README.md"),
    ("messenger", "core/message/src/messenger/README.md"),
    ("pages", "systems/dsm/src/protocol/README.md"),
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
    let rows = Rows::of(tree, &mut violations);
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
                None => "a race of a page that has no room: give it one in xtask/src/tidy/races/mod.rs",
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

/// The number of the race that a line names: `7` of `7. **Name.**`, `T7` of `- **T7. Name.**`; and does its name end as it should?
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

#[cfg(test)]
mod tests;
