//! One name has one idea: a reader of three rooms learns each word once.
//!
//! A type's name that more than two packages define is listed with the one meaning it has in all of them.
//! Words themselves are the affair of `typos.toml`.
use crate::source::{Source, is_for_tests};
use crate::tree::Tree;
use crate::violation::Violation;
use proc_macro2::Ident;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};

/// The most packages that may give one name to types of their own.
const PACKAGES_MAX: usize = 2;
const MANIFEST: &str = "Cargo.toml";

/// Every name of a type that too many packages define and that is not listed.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    check_with(tree, sources, &SHARED)
}

fn check_with(tree: &Tree, sources: &[Source<'_>], listed: &[(&str, &str)]) -> Vec<Violation> {
    let mut types = Types::new();
    for source in sources.iter().filter(|source| !source.test) {
        let package = package_of(tree, source.path);
        let mut finder = Finder(Vec::new());
        finder.visit_file(&source.file);
        for (name, line) in finder.0 {
            types.entry(name).or_default().entry(package).or_insert((source.path, line));
        }
    }
    types.iter().filter_map(|(name, places)| judge(name, places, listed)).collect()
}

/// The names of types; of each, the packages that define it, and where they do so first.
type Types<'a> = BTreeMap<String, BTreeMap<&'a str, (&'a str, usize)>>;

fn judge(name: &str, places: &BTreeMap<&str, (&str, usize)>, listed: &[(&str, &str)]) -> Option<Violation> {
    let &(path, line) = places.values().next()?;
    if places.len() <= PACKAGES_MAX || listed.iter().any(|(listed, _)| *listed == name) {
        return None;
    }
    let packages: Vec<String> = places.values().map(|(path, line)| format!("{path}:{line}")).collect();
    let remedy = "give each its own name, or list the one meaning in xtask/src/tidy/vocabulary.rs";
    let what = format!("`{name}` is a type of {} packages ({}): {remedy}", places.len(), packages.join(", "));
    Some(Violation::new(path, line, "shared-name", what))
}

/// The innermost directory around a file that has a manifest.
fn package_of<'a>(tree: &Tree, path: &'a str) -> &'a str {
    let mut ancestors = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    ancestors.find(|place| tree.text(&format!("{place}/{MANIFEST}")).is_some()).unwrap_or("")
}

/// The types that a file defines, and their lines; not those for tests, and not associated types, which are
/// named for each trait alone.
struct Finder(Vec<(String, usize)>);

impl Finder {
    fn define(&mut self, name: &Ident) {
        self.0.push((name.to_string(), name.span().start().line));
    }
}

/// Visits an item unless it is for tests only, and notes its name if it is a type.
macro_rules! items {
    ($($visit:ident: $syntax:ident $(, $name:ident)?;)*) => {
        $(fn $visit(&mut self, item: &'ast syn::$syntax) {
            if !is_for_tests(&item.attrs) {
                $(self.define(&item.$name);)?
                visit::$visit(self, item);
            }
        })*
    };
}

impl<'ast> Visit<'ast> for Finder {
    items! {
        visit_item_struct: ItemStruct, ident;
        visit_item_enum: ItemEnum, ident;
        visit_item_union: ItemUnion, ident;
        visit_item_type: ItemType, ident;
        visit_item_trait: ItemTrait, ident;
        visit_item_fn: ItemFn;
        visit_item_impl: ItemImpl;
        visit_item_mod: ItemMod;
    }
}

/// A name, and what it means everywhere. One that means two things is no entry: give the types two names.
pub(super) const SHARED: [(&str, &str); 28] = [
    ("Barrier", "a point where threads or ranks wait until all of them have come"),
    ("Counts", "how often each of some things happened"),
    ("Distribution", "how values are spread"),
    ("Entry", "one element of a table or a list"),
    ("Event", "something that happens at one moment"),
    ("Frame", "what is sent over a connection at once"),
    ("Header", "what stands first in a file or a segment and says what it is"),
    ("Host", "one computer of several, with what it holds"),
    ("Inbox", "what has come and was not taken yet"),
    ("Lane", "one thread's end of a fabric"),
    ("Layout", "where the parts of a whole lie"),
    ("Link", "one end of a connection between two"),
    ("Machine", "the computer that is measured or simulated, as far as its reader looks at it"),
    ("Measured", "what a measurement gave"),
    ("Member", "one of those who meet"),
    ("Noise", "what disturbs a run from outside"),
    ("Outcome", "what came of a run or a wait"),
    ("Placement", "on which processors threads run"),
    ("Plan", "what is to be done, as it stands before it begins"),
    ("Rank", "one of those that work together: its number, or its handle"),
    ("Row", "one line of a table of results"),
    ("Sample", "one observation of many"),
    ("Settings", "what a user may choose of a part of the house"),
    ("Shared", "what several threads use at once"),
    ("Slot", "one place of several alike, which is taken and given back"),
    ("State", "where a protocol or a machine stands"),
    ("Thread", "one thread of execution"),
    ("Wait", "one wait, while it goes on"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(SHARED.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    /// What is said of three files, among three packages and the workspace around them.
    fn names(files: [(&str, &str); 3], listed: &[(&str, &str)]) -> Vec<String> {
        let [a, b, c] = files;
        let packages = [("Cargo.toml", ""), ("core/a/Cargo.toml", ""), ("core/b/Cargo.toml", ""), ("core/b/c/Cargo.toml", "")];
        let [whole, core_a, core_b, core_c] = packages;
        let tree = Tree::of([whole, core_a, core_b, core_c, a, b, c]);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        check_with(&tree, &sources, listed).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_name_of_three_packages_is_found_where_the_first_defines_it() {
        let files = [
            ("core/a/src/a.rs", "\nstruct Gear;"),
            ("core/b/src/b.rs", "trait Gear {}"),
            ("core/b/c/src/c.rs", "type Gear = u8;"),
        ];
        let found = "core/a/src/a.rs:2: shared-name: `Gear` is a type of 3 packages (core/a/src/a.rs:2, core/b/src/b.rs:1, \
                     core/b/c/src/c.rs:1): give each its own name, or list the one meaning in xtask/src/tidy/vocabulary.rs";
        assert_eq!(names(files, &[]), [found]);
        assert_eq!(names(files, &[("Gears", "Not it.")]), [found]);
        assert_eq!(names(files, &[("Gear", "A wheel with teeth.")]), [] as [&str; 0]);
    }

    #[test]
    fn a_name_of_two_packages_is_not_shared() {
        let (a, b) = (("core/a/src/a.rs", "struct Gear;"), ("core/b/src/b.rs", "enum Gear {}"));
        for (path, text) in [
            ("core/b/src/again.rs", "struct Gear;"),
            ("core/b/c/src/c.rs", "impl A for B { type Gear = u8; }\ntrait A { type Gear; }"),
            ("core/b/c/src/c.rs", "fn f() -> Gear { Gear }\nmod gear { enum A { Gear } }"),
            ("core/b/c/src/c.rs", "#[cfg(test)]\nmod tests {\n mod fake { struct Gear; }\n}"),
            ("core/b/c/src/c.rs", "#[cfg(test)]\nstruct Gear;\n#[test]\nfn f() { struct Gear; }"),
            ("core/b/c/src/tests.rs", "struct Gear;"),
            ("core/b/c/tests/c.rs", "struct Gear;"),
            ("core/b/c/benches/c.rs", "struct Gear;"),
            ("core/b/c/examples/c.rs", "struct Gear;"),
        ] {
            assert_eq!(names([a, b, (path, text)], &[]), [] as [&str; 0], "{path}: {text}");
        }
        let outside_of_tests = "#[cfg(test)]\nmod tests {}\n#[cfg(not(test))]\nstruct Gear;";
        assert_eq!(names([a, b, ("core/b/c/src/c.rs", outside_of_tests)], &[]).len(), 1);
    }
}
