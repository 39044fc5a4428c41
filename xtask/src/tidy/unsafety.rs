//! Unsafe code stays where hardware begins, and SECURITY.md counts it. That each block says why it is sound
//! is clippy's affair.
use crate::source::{Source, each_level};
use crate::tree::Tree;
use crate::violation::Violation;
use proc_macro2::{Delimiter, TokenTree};
use std::collections::BTreeMap;
use syn::Meta;

/// Where the table of crates with unsafe blocks stands.
const STATEMENT: &str = "SECURITY.md";

/// Where `unsafe` may stand: the worlds, peers' libraries, and few named places.
const AREAS: [&str; 6] =
    ["worlds/", "peers/", "systems/dsm/src/views", "systems/blas/src/kernels", "systems/team/src/handover", "faces/"];

pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    let what = "`unsafe` belongs into the worlds (xtask/src/tidy/unsafety.rs): move it there, or do without";
    let mut violations: Vec<Violation> = sources.iter().filter_map(|source| check_root(tree, source)).collect();
    for source in sources.iter().filter(|source| !AREAS.iter().any(|area| source.path.starts_with(area))) {
        each_level(source.tokens.clone(), &mut |level| {
            let uses = level.iter().filter(|token| matches!(token, TokenTree::Ident(word) if word == "unsafe"));
            violations.extend(uses.map(|token| Violation::new(source.path, token.span().start().line, "unsafe", what)));
        });
    }
    violations.extend(check_statement(tree, sources));
    violations
}

/// The rows of the table, ``| `worlds/host` | 12 | ...``, say how many blocks each crate has outside its tests.
fn check_statement(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    let Some(text) = tree.text(STATEMENT) else { return Vec::new() };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.test) {
        let mut ancestors = source.path.rmatch_indices('/').map(|(at, _)| &source.path[..at]);
        let Some(home) = ancestors.find(|home| tree.text(&format!("{home}/Cargo.toml")).is_some()) else { continue };
        each_level(source.tokens.clone(), &mut |level| {
            *counts.entry(home).or_default() += level.windows(2).filter(|pair| is_block(pair)).count();
        });
    }
    counts.retain(|_, count| *count > 0);
    let mut violations = Vec::new();
    for (line, row) in text.lines().enumerate() {
        let mut cells =
            row.strip_prefix("| `").into_iter().flat_map(|row| row.split('|')).map(|cell| cell.trim().trim_matches('`'));
        let (Some(home), Some(count)) = (cells.next(), cells.next()) else { continue };
        let counted = counts.remove(home).unwrap_or(0);
        if count != counted.to_string() {
            violations.push(Violation::new(STATEMENT, line + 1, "unsafe-count", format!("{home} has {counted} unsafe blocks")));
        }
    }
    let missing = counts.iter().map(|(home, count)| format!("{home} has {count} unsafe blocks and no row"));
    violations.extend(missing.map(|what| Violation::new(STATEMENT, 1, "unsafe-count", what)));
    violations
}

fn is_block(pair: &[TokenTree]) -> bool {
    matches!(pair, [TokenTree::Ident(word), TokenTree::Group(body)] if word == "unsafe" && body.delimiter() == Delimiter::Brace)
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
        lines_of(&check(&tree, &sources))
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
    fn the_statement_counts_the_blocks_of_each_crate() {
        let code = "// SAFETY: it is.\nunsafe fn f() {}\nfn g() { unsafe { f() }; m! { unsafe { f() } } }";
        let verdict = |table: &str| {
            let files =
                [("worlds/a/Cargo.toml", ""), ("worlds/a/src/b.rs", code), ("worlds/a/tests/t.rs", code), (STATEMENT, table)];
            let tree = Tree::of(files);
            let (sources, _) = Source::all(&tree);
            check_statement(&tree, &sources).into_iter().map(|violation| violation.what).collect::<Vec<_>>()
        };
        assert!(verdict("| crate | blocks |\n|---|---|\n| `worlds/a` | 2 | loom |\n").is_empty());
        assert_eq!(verdict("| `worlds/a` | 3 | loom |\n"), ["worlds/a has 2 unsafe blocks"]);
        assert_eq!(verdict("no table\n"), ["worlds/a has 2 unsafe blocks and no row"]);
        assert_eq!(verdict("| `worlds/a` | 2 |\n| `core/a` | 1 |\n"), ["core/a has 0 unsafe blocks"]);
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
