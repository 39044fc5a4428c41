//! The style of the house, kept by a test rather than by memory. One rule, or one family of rules, a file.
mod house;
mod layout;
mod links;
mod mentions;
mod unsafety;
mod words;
mod world;

use crate::source::Source;
use crate::tree::Tree;
use crate::violation::Violation;

/// All violations, and a line about the whole.
pub(crate) fn run(tree: &Tree) -> (Vec<Violation>, String) {
    let (sources, mut violations) = Source::all(tree);
    violations.extend(house::check(tree));
    violations.extend(links::check(tree));
    violations.extend(mentions::check(tree));
    violations.extend(words::check(tree, &sources));
    violations.extend(world::check(&sources));
    let (layout, lengths) = layout::check(&sources);
    let (unsafety, reasons) = unsafety::check(tree, &sources);
    violations.extend(layout);
    violations.extend(unsafety);
    violations.sort();
    let verdict = match violations.len() {
        0 => "tidy".to_owned(),
        n => format!("{n} violations"),
    };
    (violations, format!("{verdict}: {} files, {lengths}, {reasons}", tree.len()))
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
        let expected = "tidy: 2 files, 1 of them Rust with a median of 4 lines, longest file core/wait/src/lib.rs (4), \
                        longest function f (2, core/wait/src/lib.rs:3), 0 unsafe blocks and impls, 0 with a reason";
        assert_eq!(summary, expected);
    }

    #[test]
    fn every_rule_is_asked() {
        let lib = concat!(
            "use std::fs;\n// TO",
            "DO\n// ../sha",
            "red\nfn f() {\n",
            "//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n",
            "//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n",
            "//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n//\n}\n",
        );
        let manifest = "[package]\nname = \"x\"\n";
        let tree = [("core/x/Cargo.toml", manifest), ("core/x/src/lib.rs", lib), ("a.md", "[a](b)"), ("b.rs", "fn {")];
        let (violations, summary) = run(&Tree::of(tree));
        let mut rules: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        assert_eq!(
            rules,
            ["arrow", "function-length", "link", "mention", "opening", "opening", "syntax", "unsafe", "word", "world"]
        );
        assert!(summary.starts_with("10 violations: 4 files"), "{summary}");
    }
}
