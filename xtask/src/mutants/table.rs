//! Which verdicts changed with which mutant: a line of text, a row of Markdown.
use super::copy::{self, Verdicts};
use crate::claims::mutants::Mutant;
use anyhow::{Context, Result};
use std::fs;

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
        format!("At commit {short}: {noticed} of {} mutants are noticed by every claim that names them.\n\n", rows.len());
    table.push_str("| what is changed | tried | verdicts that change | which |\n|---|---|---|---|\n");
    table.extend(rows.iter().map(Row::markdown));
    Ok(format!("{head}{BEGIN}{table}{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
