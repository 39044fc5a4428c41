//! Checks that verdicts notice changes: one constant or rule is changed at a time, in a copy of the
//! workspace, and the experiments that must see it are run with and without.
//!
//! `claims` reads what is changed; [`copy`] builds it.
mod copy;

use crate::ChoreError;
use crate::claims::mutants::{Mutant, Mutants};
use crate::tree::Tree;
use anyhow::{Context, Result, anyhow, ensure};
use copy::{TreeCopy, Verdicts};
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs;

pub(crate) const HELP: &str = "\
cargo xtask mutants [--draw N] [--seed S] [--in-place] [--write] [NAME ...]

Changes one constant or rule of the simulators at a time (papers/mutants.toml), in a copy of this workspace under the target
directory, and runs the experiments that must notice it. Prints which verdicts changed. All mutants, those named, or N drawn ones:
drawn by S, or by the current commit, at most one a paper. --in-place changes this tree itself, which saves a build of
everything. --write puts the table of a whole run into papers/README.md. A mutant takes a build and its experiments: a minute
or two.
Exit codes: 0 every mutant is noticed by all claims that name it, 1 some claim does not react, 2 wrong usage or no build.";

#[derive(Debug, Default, PartialEq)]
struct Ask {
    names: Vec<String>,
    draw: Option<usize>,
    seed: Option<u64>,
    in_place: bool,
    write: bool,
}

impl Ask {
    fn parse(arguments: &[&str]) -> Option<Self> {
        let mut ask = Self::default();
        let mut rest = arguments.iter();
        while let Some(&word) = rest.next() {
            match word {
                "--draw" => ask.draw = Some(rest.next()?.parse().ok().filter(|&count| count > 0)?),
                "--seed" => ask.seed = Some(rest.next()?.parse().ok()?),
                "--in-place" => ask.in_place = true,
                "--write" => ask.write = true,
                option if option.starts_with('-') => return None,
                name => ask.names.push(name.to_owned()),
            }
        }
        // The table is one of all mutants.
        let (drawn, named) = (ask.draw.is_some(), !ask.names.is_empty());
        let fits = !(ask.write && (drawn || named)) && !(drawn && named) && (drawn || ask.seed.is_none());
        fits.then_some(ask)
    }
}

/// What follows `cargo xtask mutants`.
pub(crate) fn run(arguments: &[&str]) -> Result<bool, ChoreError> {
    let usage = || ChoreError::Usage(format!("expected names and options as below, got `{}`", arguments.join(" ")));
    Ok(answer(&Ask::parse(arguments).ok_or_else(usage)?)?)
}

/// Runs mutants. Returns whether every claim that names one notices it.
fn answer(ask: &Ask) -> Result<bool> {
    let tree = Tree::of_workspace()?;
    let all = Mutants::of(&tree).map_err(|violation| anyhow!("{violation}"))?;
    let chosen = chosen(&all.iter().collect::<Vec<_>>(), ask)?;
    let copy = TreeCopy::of(&tree, ask.in_place)?;
    copy.build(None)?;
    let mut unchanged = BTreeMap::new();
    for (paper, experiment) in chosen.iter().flat_map(|mutant| experiments(mutant)) {
        if let Entry::Vacant(place) = unchanged.entry((paper, experiment)) {
            place.insert(copy.verdicts(paper, experiment)?);
        }
    }
    let mut rows = Vec::new();
    for mutant in chosen {
        // Each alone: papers share systems (credits are those of messages and of shared memory), so two would
        // be seen at once.
        copy.build(Some(mutant))?;
        let mut row = Row::of(mutant);
        for (paper, experiment) in experiments(mutant) {
            row.add(&unchanged[&(paper, experiment)], &copy.verdicts(paper, experiment)?);
        }
        println!("{}", row.line());
        rows.push(row);
    }
    if ask.write {
        write(&rows, &copy::commit().context("a table needs the commit that it is of")?)?;
    }
    let silent: Vec<_> = rows.iter().filter(|row| !row.is_noticed()).map(|row| row.name.as_str()).collect();
    println!("{} of {} mutants are detected by every claim that names them", rows.len() - silent.len(), rows.len());
    Ok(silent.is_empty())
}

fn experiments(mutant: &Mutant) -> impl Iterator<Item = (&str, &str)> {
    mutant.experiments.iter().map(|experiment| (mutant.paper.as_str(), experiment.as_str()))
}

fn chosen<'a>(all: &[&'a Mutant], ask: &Ask) -> Result<Vec<&'a Mutant>> {
    for name in &ask.names {
        let known: Vec<_> = all.iter().map(|mutant| mutant.name.as_str()).collect();
        ensure!(known.contains(&name.as_str()), "no mutant `{name}`; there are {}", known.join(", "));
    }
    let mut chosen: Vec<_> =
        all.iter().copied().filter(|mutant| ask.names.is_empty() || ask.names.contains(&mutant.name)).collect();
    if let Some(count) = ask.draw {
        let by_commit = || -> Result<u64> {
            let commit = copy::commit().context("there is no commit to draw by; give --seed")?;
            Ok(u64::from_str_radix(commit.get(..12).unwrap_or(&commit), 16)?)
        };
        let seed = ask.seed.map_or_else(by_commit, Ok)?;
        println!("drawn by --seed {seed}");
        // A permutation that is fixed by the seed: by a mixed number of each.
        chosen.sort_by_cached_key(|mutant| mixed(seed, &mutant.name));
        let (mut drawn, mut papers) = (Vec::new(), BTreeSet::new());
        for mutant in chosen {
            if drawn.len() < count && papers.insert(&mutant.paper) {
                drawn.push(mutant);
            }
        }
        return Ok(drawn);
    }
    Ok(chosen)
}

/// FNV-1a over the seed and the name, mixed once more, since names may differ in their last letter only.
fn mixed(seed: u64, name: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Between these the table stands in `papers/README.md`.
const BEGIN: &str = "<!-- mutants: written by `cargo xtask mutants --write` -->\n";
const END: &str = "<!-- end of mutants -->\n";

pub(super) struct Row {
    pub(super) name: String,
    why: String,
    place: String,
    named: Vec<String>,
    /// Claims whose verdict changed, as `id: before -> after`, and of how many.
    changed: Vec<(String, String, String)>,
    tried: usize,
}

impl Row {
    pub(super) fn of(mutant: &Mutant) -> Self {
        Self {
            name: mutant.name.clone(),
            why: mutant.why.clone(),
            place: format!("{}: {}", mutant.paper, mutant.experiments.join(", ")),
            named: mutant.reacts.clone(),
            changed: Vec::new(),
            tried: 0,
        }
    }

    /// Holds what one experiment said against what it says without the change.
    pub(super) fn add(&mut self, before: &Verdicts, after: &Verdicts) {
        self.tried += before.len();
        for (id, was) in before {
            let is = after.get(id).map_or("gone", String::as_str);
            if is != was {
                self.changed.push((id.clone(), was.clone(), is.to_owned()));
            }
        }
    }

    /// Claims that name the mutant and did not react.
    fn silent(&self) -> Vec<&str> {
        self.named.iter().map(String::as_str).filter(|id| !self.changed.iter().any(|(changed, ..)| changed == id)).collect()
    }

    pub(super) fn is_noticed(&self) -> bool {
        self.silent().is_empty()
    }

    pub(super) fn line(&self) -> String {
        let changed: Vec<_> = self.changed.iter().map(|(id, was, is)| format!("{id} ({was} -> {is})")).collect();
        let silent = self.silent();
        let silent = if silent.is_empty() { String::new() } else { format!("; DOES NOT REACT: {}", silent.join(", ")) };
        format!("{} [{}]: {} of {}: {}{silent}", self.name, self.place, self.changed.len(), self.tried, changed.join(", "))
    }

    fn markdown(&self) -> String {
        let ids: Vec<_> = self.changed.iter().map(|(id, ..)| format!("`{id}`")).collect();
        let silent = self.silent();
        let silent = if silent.is_empty() { String::new() } else { format!("; **silent**: {}", silent.join(", ")) };
        format!(
            "| {}: {} | {} | {} of {} | {}{silent} |\n",
            self.name,
            self.why,
            self.place,
            self.changed.len(),
            self.tried,
            ids.join(" ")
        )
    }
}

/// Puts the table where readers look for it.
pub(super) fn write(rows: &[Row], commit: &str) -> Result<()> {
    let path = copy::root()?.join("papers/README.md");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, with_table(&text, rows, commit)?).with_context(|| format!("cannot write {}", path.display()))
}

fn with_table(text: &str, rows: &[Row], commit: &str) -> Result<String> {
    let place = || Some((text.split_once(BEGIN)?.0, text.split_once(END)?.1));
    let (head, tail) = place().with_context(|| format!("papers/README.md has no place for the table: `{}`", BEGIN.trim()))?;
    let noticed = rows.iter().filter(|row| row.is_noticed()).count();
    let short = commit.get(..12).unwrap_or(commit);
    let mut table =
        format!("At commit {short}: {noticed} of {} mutants are detected by every claim that names them.\n\n", rows.len());
    table.push_str("| what is changed | tried | verdicts that change | which |\n|---|---|---|---|\n");
    table.extend(rows.iter().map(Row::markdown));
    Ok(format!("{head}{BEGIN}{table}{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: String) -> Mutant {
        let (file, from, to, why) = ("f".into(), "a".into(), "b".into(), "w".into());
        let paper = format!("p{}", name.len());
        Mutant { name, file, from, to, paper, experiments: vec!["e".into()], reacts: vec!["c".into()], why }
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        assert_eq!(Ask::parse(&[]), Some(Ask::default()));
        assert_eq!(Ask::parse(&["--draw", "3", "--seed", "9"]), Some(Ask { draw: Some(3), seed: Some(9), ..Ask::default() }));
        for wrong in [&["--draw"][..], &["--draw", "0"], &["--seed", "1"], &["--write", "a"], &["--draw", "1", "a"], &["--x"]] {
            assert_eq!(Ask::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_and_seeds_differ() {
        // Of three papers, by the lengths of their names.
        let all: Vec<_> = (0..40).map(|number| mutant(format!("{}{number:02}", "m".repeat(number % 3 + 1)))).collect();
        let drawn = |seed| {
            let ask = Ask { draw: Some(3), seed: Some(seed), ..Ask::default() };
            chosen(&all.iter().collect::<Vec<_>>(), &ask).unwrap().iter().map(|mutant| mutant.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!((drawn(1), drawn(1).len()), (drawn(1), 3));
        assert!(drawn(2).iter().map(String::len).collect::<BTreeSet<_>>().len() == 3, "one a paper");
        let seen: BTreeSet<_> = (0..500).flat_map(drawn).collect();
        assert_eq!(seen.len(), 40, "every mutant comes up");
        let ask = Ask { names: vec!["gone".into()], ..Ask::default() };
        assert!(chosen(&all.iter().collect::<Vec<_>>(), &ask).unwrap_err().to_string().contains("m39"));
    }

    fn row(after: [(&str, &str); 2]) -> Row {
        let verdicts = |all: [(&str, &str); 2]| all.map(|(id, word)| (id.to_owned(), word.to_owned())).into();
        let mut row =
            Row { name: "m".into(), why: "why".into(), place: "p: e".into(), named: vec!["a".into()], changed: vec![], tried: 0 };
        row.add(&verdicts([("a", "holds"), ("b", "differs")]), &verdicts(after));
        row
    }

    #[test]
    fn a_mutant_is_noticed_by_the_claims_that_name_it_or_not_at_all() {
        let noticed = row([("a", "differs"), ("b", "differs")]);
        assert!(noticed.is_noticed());
        assert_eq!(noticed.line(), "m [p: e]: 1 of 2: a (holds -> differs)");
        let by_another = row([("a", "holds"), ("b", "holds")]);
        assert!(!by_another.is_noticed());
        assert!(by_another.line().ends_with("DOES NOT REACT: a"));
        assert!(row([("b", "differs"), ("c", "holds")]).is_noticed(), "a verdict that is gone has changed");
    }

    #[test]
    fn the_table_takes_the_place_of_the_last_one() {
        let rows = [row([("a", "differs"), ("b", "differs")])];
        let once = with_table(&format!("head\n{BEGIN}old\n{END}tail\n"), &rows, "0123456789abcdef").unwrap();
        assert!(once.starts_with("head\n") && once.ends_with("tail\n") && !once.contains("old"));
        assert!(once.contains("At commit 0123456789ab: 1 of 1") && once.contains("| m: why | p: e | 1 of 2 | `a` |"));
        assert_eq!(with_table(&once, &rows, "0123456789abcdef").unwrap(), once);
        assert!(with_table("nothing", &rows, "x").is_err());
    }
}
