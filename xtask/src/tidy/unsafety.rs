//! Unsafe code stays where hardware begins, and every use of it says why it is sound.
use crate::source::{Source, each_level};
use crate::tree::Tree;
use crate::violation::Violation;
use proc_macro2::{Delimiter, TokenTree};
use std::collections::BTreeSet;
use syn::Meta;

/// Where `unsafe` may stand: the worlds, other people's libraries, and few named places.
const AREAS: [&str; 6] =
    ["worlds/", "peers/", "systems/dsm/src/views", "systems/blas/src/kernels", "systems/team/src/handover", "faces/"];

/// How far above its `unsafe` a reason may stand, within the same statement.
const REACH_LINES: usize = 12;

/// Violations, and the count of reasons in words.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> (Vec<Violation>, String) {
    let mut violations = Vec::new();
    let (mut needed, mut given) = (0, 0);
    for source in sources {
        let reasons: BTreeSet<usize> =
            source.comments.iter().filter(|(_, text)| text.contains("SAFETY:")).map(|(line, _)| *line).collect();
        for (line, needs_reason) in uses(source) {
            if !AREAS.iter().any(|area| source.path.starts_with(area)) {
                let what = "`unsafe` belongs into the worlds (xtask/src/tidy/unsafety.rs): move it there, or do without";
                violations.push(Violation::new(source.path, line, "unsafe", what));
            }
            if needs_reason {
                needed += 1;
                if has_reason(source.text, &reasons, line) {
                    given += 1;
                } else {
                    let what = "say why this is sound in a `// SAFETY:` comment directly above";
                    violations.push(Violation::new(source.path, line, "safety", what));
                }
            }
        }
    }
    violations.extend(sources.iter().filter_map(|source| check_root(tree, source)));
    (violations, format!("{needed} unsafe blocks and impls, {given} with a reason"))
}

/// The lines of all `unsafe`, within macros too, and whether it is a block or an impl: those need a reason.
fn uses(source: &Source<'_>) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    each_level(source.tokens.clone(), &mut |level| {
        for (at, token) in level.iter().enumerate() {
            if matches!(token, TokenTree::Ident(word) if word == "unsafe") {
                let needs_reason = match level.get(at + 1) {
                    Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
                    Some(TokenTree::Ident(word)) => word == "impl",
                    _ => false,
                };
                found.push((token.span().start().line, needs_reason));
            }
        }
    });
    found
}

/// Looks upwards from `line` through the beginning of its statement to the comment above.
fn has_reason(text: &str, reasons: &BTreeSet<usize>, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut in_comment = false;
    for number in (1..line).rev().take(REACH_LINES) {
        let above = lines[number - 1];
        if reasons.contains(&number) {
            return true;
        }
        let comment = above.starts_with("//") || above.starts_with("/*") || above.ends_with("*/");
        let ends_something = above.is_empty() || above.ends_with([';', ',', '{', '}']);
        if !comment && (in_comment || ends_something) {
            return false;
        }
        in_comment = comment;
    }
    false
}

/// A crate without unsafe places forbids it; one with few denies it, so that each place says `allow`.
fn check_root(tree: &Tree, source: &Source<'_>) -> Option<Violation> {
    let home = ["lib.rs", "main.rs"].iter().find_map(|root| source.path.strip_suffix(root)?.strip_suffix("src/"))?;
    if AREAS.iter().any(|area| home.starts_with(area)) || !tree.holds(&format!("{home}Cargo.toml")) {
        return None;
    }
    let wanted: &[&str] = if AREAS.iter().any(|area| area.starts_with(home)) { &["forbid", "deny"] } else { &["forbid"] };
    let says = source.file.attrs.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => wanted.iter().any(|level| list.path.is_ident(level)) && list.tokens.to_string() == "unsafe_code",
        _ => false,
    });
    let what = || format!("the crate must say `#![{}(unsafe_code)]`", wanted[wanted.len() - 1]);
    (!says).then(|| Violation::new(source.path, 1, "unsafe", what()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    fn verdict(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        let manifests = ["core/a", "worlds/a", "systems/dsm"].map(|home| format!("{home}/Cargo.toml"));
        let [a, b, c] = manifests.each_ref().map(String::as_str);
        let tree = Tree::of([(path, text), (a, ""), (b, ""), (c, "")]);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        lines_of(&check(&tree, &sources).0)
    }

    #[test]
    fn a_reason_stands_directly_above() {
        for good in [
            "fn f() {\n // SAFETY: it is.\n unsafe { g() }\n}",
            "fn f() {\n // SAFETY: it is,\n // and how.\n let x =\n  unsafe { g() };\n}",
            "// SAFETY: it is.\n#[cfg(unix)]\nunsafe impl Send for A {}",
            "fn f() {\n /* SAFETY: it is,\n and how. */\n unsafe { g() }\n}",
            "fn f() { \"unsafe { }\"; /* unsafe { } */ }",
            "unsafe fn f() {}\nunsafe extern \"C\" {\n safe fn g();\n}",
        ] {
            assert_eq!(verdict("worlds/a/src/b.rs", good), [], "{good}");
        }
        for (bad, line) in [
            ("fn f() {\n unsafe { g() }\n}", 2),
            ("fn f() {\n // It is safe.\n unsafe { g() }\n}", 3),
            ("// SAFETY: it is.\nfn f() {\n // Really.\n unsafe { g() }\n}", 4),
            ("fn f() {\n // SAFETY: it is.\n\n unsafe { g() }\n}", 4),
            ("// SAFETY: another.\nconst A: A = f(\n // Really.\n unsafe { g() }\n);", 4),
            ("fn f() {\n // SAFETY: it is.\n unsafe { g() };\n unsafe { h() }\n}", 4),
            ("// SAFETY: it is.\nunsafe impl Send for A {}\nunsafe impl Sync for A {}", 3),
            ("fn f() {\n \"SAFETY: no.\"\n .g(unsafe { g() })\n}", 3),
            ("macro_rules! m {\n () => {\n unsafe { g() }\n };\n}", 3),
        ] {
            assert_eq!(verdict("worlds/a/src/b.rs", bad), [(line, "safety")], "{bad}");
        }
    }

    #[test]
    fn unsafe_stays_in_its_areas() {
        let text = "// SAFETY: it is.\nunsafe impl Send for A {}";
        for good in ["worlds/sim/src/a.rs", "peers/src/a.rs", "systems/dsm/src/views/a.rs", "systems/team/src/handover.rs"] {
            assert_eq!(verdict(good, text), [], "{good}");
        }
        for bad in ["core/wait/src/a.rs", "bench/tests/a.rs", "systems/dsm/src/lock.rs", "lab/worlds/a.rs"] {
            assert_eq!(verdict(bad, text), [(2, "unsafe")], "{bad}");
        }
        assert_eq!(verdict("core/wait/src/a.rs", "unsafe fn f() {}"), [(1, "unsafe")]);
        assert_eq!(verdict("core/wait/src/a.rs", "#[unsafe(no_mangle)]\nfn f() {}"), [(1, "unsafe")]);
    }

    #[test]
    fn every_other_crate_forbids_it() {
        assert_eq!(verdict("core/a/src/lib.rs", "#![forbid(unsafe_code)]"), []);
        assert_eq!(verdict("core/a/src/lib.rs", "#![deny(unsafe_code)]"), [(1, "unsafe")]);
        assert_eq!(verdict("core/a/src/main.rs", "// #![forbid(unsafe_code)]"), [(1, "unsafe")]);
        assert_eq!(verdict("core/a/src/other.rs", ""), []);
        assert_eq!(verdict("worlds/a/src/lib.rs", ""), []);
        assert_eq!(verdict("systems/dsm/src/lib.rs", "#![deny(unsafe_code)]"), []);
        assert_eq!(verdict("systems/dsm/src/lib.rs", ""), [(1, "unsafe")]);
    }
}
