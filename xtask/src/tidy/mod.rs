//! The style of the house, kept by a test rather than by memory. One rule, or one family of rules, a file.
mod door;
mod house;
mod layout;
mod mentions;
mod races;
mod unsafety;
mod vocabulary;

use crate::source::Source;
use crate::tree::Tree;
use crate::violation::Violation;

/// All violations, and a line about the whole.
pub(crate) fn run(tree: &Tree) -> (Vec<Violation>, String) {
    let (sources, mut violations) = Source::all(tree);
    violations.extend(door::check(&sources));
    violations.extend(house::check(tree));
    violations.extend(mentions::check(tree));
    violations.extend(races::check(tree, &sources));
    violations.extend(vocabulary::check(tree, &sources));
    let (layout, lengths) = layout::check(&sources);
    violations.extend(layout);
    violations.extend(unsafety::check(tree, &sources));
    violations.sort();
    let summary = format!("{}: {} files, {lengths}", verdict(&violations), tree.len());
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

    const CLEAN: &str = "//! Why.\n#![forbid(unsafe_code)]\n#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]\n";
    const MANIFEST: &str = "[package]\nname = \"foregather-wait\"\n";

    #[test]
    fn a_clean_house_is_tidy_and_summed_up() {
        let (violations, summary) = run(&Tree::of([("core/wait/Cargo.toml", MANIFEST), ("core/wait/src/lib.rs", CLEAN)]));
        assert_eq!(violations, []);
        let expected = "tidy: 2 files, 1 of them Rust with a median of 3 lines, longest file core/wait/src/lib.rs (3)";
        assert_eq!(summary, expected);
    }

    #[test]
    fn every_rule_is_asked() {
        let lib = concat!("// ../sha", "red\nstruct Gadget;\n");
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
            ("b.rs", "fn {"),
        ];
        let (violations, summary) = run(&Tree::of(tree));
        let mut rules: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        assert_eq!(rules, ["arrow", "mention", "opening", "shared-name", "syntax", "unsafe"]);
        assert!(summary.starts_with("6 violations: 7 files"), "{summary}");
    }
}
