//! The style of the house, kept by a test rather than by memory. One rule, or one family of rules, a file.
mod door;
mod house;
mod layout;
mod links;
mod mentions;
mod prose;
mod races;
mod unsafety;
mod vocabulary;
mod words;
mod world;

use crate::source::Source;
use crate::tree::Tree;
use crate::violation::Violation;

/// All violations, and a line about the whole.
pub(crate) fn run(tree: &Tree) -> (Vec<Violation>, String) {
    let (sources, mut violations) = Source::all(tree);
    violations.extend(door::check(&sources));
    violations.extend(house::check(tree));
    violations.extend(links::check(tree));
    violations.extend(mentions::check(tree));
    violations.extend(prose::check(tree, &sources));
    violations.extend(races::check(tree, &sources));
    violations.extend(vocabulary::check(tree, &sources));
    violations.extend(words::check(tree, &sources));
    violations.extend(world::check(&sources));
    let (layout, lengths) = layout::check(&sources);
    violations.extend(layout);
    violations.extend(unsafety::check(tree, &sources));
    violations.sort();
    let summary = format!("{}: {} files, {lengths}", verdict(&violations), tree.len());
    (violations, summary)
}

/// The violations of the vocabulary and of the prose alone, and a line about them. A file that does not parse
/// hides its words, so it counts.
pub(crate) fn run_words(tree: &Tree) -> (Vec<Violation>, String) {
    let (sources, mut violations) = Source::all(tree);
    violations.extend(prose::check(tree, &sources));
    violations.extend(vocabulary::check(tree, &sources));
    violations.sort();
    let summary = format!("{}: the words of {} Rust files", verdict(&violations), sources.len());
    (violations, summary)
}

fn verdict(violations: &[Violation]) -> String {
    match violations.len() {
        0 => "tidy".to_owned(),
        1 => "1 violation".to_owned(),
        n => format!("{n} violations"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "//! Why.\n#![forbid(unsafe_code)]\nfn f() {\n}\n";
    const MANIFEST: &str = "[package]\nname = \"foregather-wait\"\n";

    #[test]
    fn a_clean_house_is_tidy_and_summed_up() {
        let (violations, summary) = run(&Tree::of([("core/wait/Cargo.toml", MANIFEST), ("core/wait/src/lib.rs", CLEAN)]));
        assert_eq!(violations, []);
        let expected = "tidy: 2 files, 1 of them Rust with a median of 4 lines, longest file core/wait/src/lib.rs (4)";
        assert_eq!(summary, expected);
    }

    #[test]
    fn every_rule_is_asked() {
        let lib =
            concat!("use std::fs;\n// TO", "DO\n// ../sha", "red\n// For people.\nfn f() {}\nstruct Quad;\nstruct Gadget;\n",);
        let manifest = "[package]\nname = \"x\"\n";
        let gadget = "//! Why.\nstruct Gadget;\n";
        let barrier = "[package]\nname = \"foregather-barrier\"\n";
        let tree = [
            ("core/x/Cargo.toml", manifest),
            ("core/x/src/lib.rs", lib),
            ("core/wait/Cargo.toml", MANIFEST),
            ("core/wait/src/gadget.rs", gadget),
            ("core/barrier/Cargo.toml", barrier),
            ("core/barrier/src/gadget.rs", gadget),
            ("a.md", "[a](b)"),
            ("b.rs", "fn {"),
        ];
        let (violations, summary) = run(&Tree::of(tree));
        let mut rules: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        let expected = ["arrow", "link", "mention", "old-word", "opening", "opening", "prose"];
        assert_eq!(rules[..7], expected);
        assert_eq!(rules[7..], ["shared-name", "syntax", "unsafe", "word", "world"]);
        assert!(summary.starts_with("12 violations: 8 files"), "{summary}");

        let (violations, summary) = run_words(&Tree::of(tree));
        let rules: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        assert_eq!(rules, ["syntax", "shared-name", "prose", "old-word"]);
        assert_eq!(summary, "4 violations: the words of 3 Rust files");
    }
}
