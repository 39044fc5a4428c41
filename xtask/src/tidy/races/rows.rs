//! What proves a race: a row of `conformance/models.toml`, which people write, or of `conformance/reached.toml`, which the swarm writes.
use super::{RULE, functions};
use crate::source::Source;
use crate::tree::Tree;
use crate::violation::Violation;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use toml::Spanned;

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

/// A test on real threads or processes, or of a scripted order, which asserts that it has reached the race's point.
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
pub(super) struct Rows<'a> {
    models: ModelRows,
    reached: ReachedRows,
    models_text: &'a str,
    reached_text: &'a str,
}

impl<'a> Rows<'a> {
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
