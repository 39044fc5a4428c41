//! Unsafe code stays where hardware begins. That each block says why it is sound is clippy's affair.
use crate::source::{Source, each_level};
use crate::tree::Tree;
use crate::violation::Violation;
use proc_macro2::TokenTree;
use syn::Meta;

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
    violations
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
