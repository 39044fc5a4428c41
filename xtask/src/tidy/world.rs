//! Outside a world there is no clock, thread, system call or random number, so the same seed gives the same
//! run.
//!
//! A hash table with the default hasher is such a random number: its order of iteration differs from run to
//! run.
use crate::source::{Source, each_level, is_for_tests};
use crate::violation::Violation;
use proc_macro2::{Span, TokenTree};
use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, UseTree};

/// Where the machine may be met. The simulator is a world, but a deterministic one, so it is not among them.
const MACHINE_AREAS: [&str; 8] =
    ["worlds/", "systems/dsm/src/views", "faces/", "bench/", "lab/", "peers/", "xtask/", "conformance/swarm/src/main.rs"];
const DETERMINISTIC_WORLD: &str = "worlds/sim/";

const FORBIDDEN_PATHS: [&[&str]; 9] = [
    &["std", "time"],
    &["std", "thread"],
    &["std", "net"],
    &["std", "process"],
    &["std", "fs"],
    &["std", "env"],
    &["libc"],
    &["rustix"],
    &["rand"],
];
const FORBIDDEN_NAMES: [&str; 3] = ["Instant", "SystemTime", "RandomState"];
/// Hash tables, and how many types one is given where it is given a hasher.
const HASHED: [(&str, usize); 2] = [("HashMap", 3), ("HashSet", 2)];
const WITH_HASHER: [&str; 2] = ["with_hasher", "with_capacity_and_hasher"];

/// Every file above the worlds, its tests left out.
pub(super) fn check(sources: &[Source<'_>]) -> Vec<Violation> {
    let met = |path: &str| MACHINE_AREAS.iter().any(|area| path.starts_with(area)) && !path.starts_with(DETERMINISTIC_WORLD);
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| !source.test && !met(source.path)) {
        let mut finder = Finder(Vec::new());
        finder.visit_file(&source.file);
        violations.extend(finder.0.into_iter().map(|(line, what)| Violation::new(source.path, line, "world", what)));
    }
    violations
}

struct Finder(Vec<(usize, String)>);

impl Finder {
    /// One path, and how many types its last hash table is given.
    fn judge(&mut self, names: &[String], types: usize, at: Span) {
        let line = at.start().line;
        let machine = FORBIDDEN_PATHS.iter().any(|path| names.len() >= path.len() && path.iter().eq(&names[..path.len()]))
            || names.iter().any(|name| FORBIDDEN_NAMES.contains(&name.as_str()));
        if machine {
            let remedy = "no clock, thread, system call or random number outside a world: take it from a trait of core/machine";
            self.0.push((line, format!("`{}`: {remedy}", names.join("::"))));
        }
        for (name, full) in HASHED {
            let Some(place) = names.iter().position(|part| part == name) else { continue };
            let hasher_given = names.get(place + 1).is_some_and(|next| WITH_HASHER.contains(&next.as_str()));
            if types < full && !hasher_given {
                self.0.push((line, format!("`{name}` iterates in random order: use the BTree kind, or name a fixed hasher")));
            }
        }
    }

    fn judge_use(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |name: &dyn ToString| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.judge_use(&with(&path.ident), &path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.judge_use(prefix, tree)),
            UseTree::Name(name) => self.judge(&with(&name.ident), usize::MAX, name.ident.span()),
            // Another name would hide a hash table, or the whole library, from this rule.
            UseTree::Rename(rename) => {
                let names = with(&rename.ident);
                self.judge(&names, 0, rename.ident.span());
                if names == ["std"] || names == ["std", "self"] {
                    self.judge(&["std".into(), "time".into()], 0, rename.ident.span());
                }
            }
            UseTree::Glob(glob) if prefix == ["std"] => {
                self.judge(&["std".into(), "time".into()], 0, glob.star_token.spans[0]);
            }
            UseTree::Glob(glob) => self.judge(prefix, usize::MAX, glob.star_token.spans[0]),
        }
    }

    /// Paths as they stand in a macro's tokens: names joined by two colons.
    fn judge_tokens(&mut self, level: &[TokenTree]) {
        let mut names: Vec<String> = Vec::new();
        let mut first = Span::call_site();
        for (at, token) in level.iter().enumerate() {
            if let TokenTree::Ident(name) = token {
                if names.is_empty() {
                    first = name.span();
                }
                names.push(name.to_string());
                let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
                let goes_on = colon(level.get(at + 1)) && colon(level.get(at + 2));
                if !(goes_on && matches!(level.get(at + 3), Some(TokenTree::Ident(_)))) {
                    self.judge(&std::mem::take(&mut names), 0, first);
                }
            }
        }
    }
}

/// Visits an item unless it is for tests only.
macro_rules! skip_tests {
    ($($visit:ident: $kind:ident),*) => {
        $(fn $visit(&mut self, item: &'ast syn::$kind) {
            if !is_for_tests(&item.attrs) {
                visit::$visit(self, item);
            }
        })*
    };
}

impl<'ast> Visit<'ast> for Finder {
    skip_tests!(visit_item_mod: ItemMod, visit_item_fn: ItemFn, visit_item_impl: ItemImpl, visit_item_struct: ItemStruct);
    skip_tests!(visit_item_const: ItemConst, visit_item_static: ItemStatic, visit_item_macro: ItemMacro, visit_impl_item_fn: ImplItemFn);

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.judge_use(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let hashed = path.segments.iter().find(|segment| HASHED.iter().any(|(name, _)| segment.ident == name));
        let types = hashed.map_or(0, |segment| match &segment.arguments {
            PathArguments::AngleBracketed(list) => list.args.iter().filter(|a| matches!(a, GenericArgument::Type(_))).count(),
            _ => 0,
        });
        if let Some(first) = path.segments.first() {
            self.judge(&names, types, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        each_level(call.tokens.clone(), &mut |level| self.judge_tokens(level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use crate::violation::lines_of;

    fn verdict(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        let tree = Tree::of([(path, text)]);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        lines_of(&check(&sources))
    }

    #[test]
    fn what_is_deterministic_passes() {
        for good in [
            "use std::fmt;\nuse core::time::Duration;\nuse std::collections::{BTreeMap, HashMap, hash_map::Entry};",
            "fn f(strand: u8, time: u8) { operand::time(crate::rand::next(), self::fs::read()); }",
            "// std::time::Instant\nconst A: &str = \"std::fs\";",
            "type Map<K, V> = HashMap<K, V, Fixed>;\nfn f() { HashSet::<u8, Fixed>::default(); HashMap::with_hasher(Fixed); }",
            "#[cfg(test)]\nmod tests {\n use std::time::Instant;\n}\n#[test]\nfn t() { std::env::args(); }",
            "#[cfg(test)]\nuse std::fs;",
        ] {
            assert_eq!(verdict("core/wait/src/a.rs", good), [], "{good}");
        }
    }

    #[test]
    fn the_machine_is_found_in_every_disguise() {
        for bad in [
            "\nuse std::time::Instant;",
            "\nuse std::{fmt, thread};",
            "\nuse ::std::{fmt, net::{self, TcpStream}};",
            "\nuse std::time as clock;",
            "\nuse std as s;",
            "\nuse std::{self as s};",
            "\nuse std::*;",
            "\nuse std::fs::*;",
            "\nuse std::collections::HashMap as Map;",
            "\nuse std::hash::RandomState;",
            "\nfn f() -> u64 { Instant::now() }",
            "\nfn f(at: some::SystemTime) {}",
            "\nfn f() { ::std::process::abort() }",
            "\nfn f() { libc::getpid(); }",
            "\nfn f() { let x: HashMap<u8, u8>; }",
            "\nfn f() { let x = HashSet::<u8>::new(); }",
            "\nfn f() { let x: Vec<HashSet<u8>>; }",
            "\nfn f() { println!(\"{}\", std::env::var(\"A\")); }",
            "\nfn f() { vec![g(HashMap::new())]; }",
            "\n#[cfg(not(test))]\nfn f() { rand::random() }",
        ] {
            let found = verdict("core/wait/src/a.rs", bad);
            assert!(!found.is_empty() && found.iter().all(|&(line, rule)| line >= 2 && rule == "world"), "{bad}: {found:?}");
        }
    }

    #[test]
    fn worlds_meet_the_machine_but_the_simulator_does_not() {
        let text = "use std::time::Instant;";
        for good in ["worlds/host/src/a.rs", "bench/src/a.rs", "lab/src/a.rs", "peers/src/a.rs", "xtask/src/a.rs"] {
            assert_eq!(verdict(good, text), [], "{good}");
        }
        assert_eq!(verdict("worlds/sim/tests/a.rs", text), []);
        for bad in ["worlds/sim/src/a.rs", "core/wait/src/a.rs", "foregather/src/a.rs", "conformance/src/a.rs"] {
            assert_eq!(verdict(bad, text), [(1, "world")], "{bad}");
        }
    }
}
