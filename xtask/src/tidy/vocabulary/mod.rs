//! One idea has one name, and one name has one idea: a reader of three rooms learns each word once.
//!
//! A word that was replaced by the word of the field may not come back, and a type's name that more than two
//! packages define is listed with the one meaning it has in all of them. The old words are in `old`.
mod old;

use crate::source::{Source, is_for_tests};
use crate::tree::Tree;
use crate::violation::Violation;
use old::{ItemKind, OLD, Old};
use proc_macro2::Ident;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};

/// The most packages that may give one name to types of their own.
const PACKAGES_MAX: usize = 2;
const MANIFEST: &str = "Cargo.toml";

/// Old words and shared names, each from its list.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    check_with(tree, sources, &OLD, &SHARED)
}

fn check_with(tree: &Tree, sources: &[Source<'_>], olds: &[Old], listed: &[(&str, &str)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut types = Types::new();
    for source in sources {
        let package = package_of(tree, source.path);
        for defined in definitions(source) {
            if let Some(old) = olds.iter().find(|old| old.forbids(&defined.name, defined.kind, source.path)) {
                let what = format!("`{}` is the old word: call it `{}`", old.old, old.now);
                violations.push(Violation::new(source.path, defined.line, "old-word", what));
            }
            if defined.kind == ItemKind::Type && !defined.within_trait && !defined.for_tests {
                let places = types.entry(defined.name).or_default();
                places.entry(package).or_insert((source.path, defined.line));
            }
        }
    }
    violations.extend(types.iter().filter_map(|(name, places)| judge_type(name, places, listed)));
    violations
}

/// The names of types; of each, the packages that define it, and where they do so first.
type Types<'a> = BTreeMap<String, BTreeMap<&'a str, (&'a str, usize)>>;

fn judge_type(name: &str, places: &BTreeMap<&str, (&str, usize)>, listed: &[(&str, &str)]) -> Option<Violation> {
    let &(path, line) = places.values().next()?;
    if places.len() <= PACKAGES_MAX || listed.iter().any(|(listed, _)| *listed == name) {
        return None;
    }
    let packages: Vec<String> = places.values().map(|(path, line)| format!("{path}:{line}")).collect();
    let remedy = "give each its own name, or list the one meaning in xtask/src/tidy/vocabulary/mod.rs";
    let what = format!("`{name}` is a type of {} packages ({}): {remedy}", places.len(), packages.join(", "));
    Some(Violation::new(path, line, "shared-name", what))
}

/// The innermost directory around a file that has a manifest.
fn package_of<'a>(tree: &Tree, path: &'a str) -> &'a str {
    let mut ancestors = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    ancestors.find(|place| tree.text(&format!("{place}/{MANIFEST}")).is_some()).unwrap_or("")
}

/// A name that a file gives to something of ours.
struct Definition {
    name: String,
    kind: ItemKind,
    line: usize,
    /// Is it an associated type? Those are named for each trait alone.
    within_trait: bool,
    for_tests: bool,
}

fn definitions(source: &Source<'_>) -> Vec<Definition> {
    let mut finder = Finder { found: Vec::new(), for_tests: source.test };
    finder.visit_file(&source.file);
    finder.found
}

struct Finder {
    found: Vec<Definition>,
    /// Is what is visited compiled for tests only?
    for_tests: bool,
}

impl Finder {
    fn define(&mut self, name: &Ident, kind: ItemKind) {
        let (line, for_tests) = (name.span().start().line, self.for_tests);
        self.found.push(Definition { name: name.to_string(), kind, line, within_trait: false, for_tests });
    }

    /// Visits what an item holds; all of it is for tests if the item is.
    fn within(&mut self, attributes: &[syn::Attribute], visit: impl FnOnce(&mut Self)) {
        let outside = self.for_tests;
        self.for_tests |= is_for_tests(attributes);
        visit(self);
        self.for_tests = outside;
    }
}

/// Notes the name of an item, then visits what is in it.
macro_rules! define {
    ($($visit:ident: $syntax:ident, $item:ident, $($name:ident).+);* $(;)?) => {
        $(fn $visit(&mut self, item: &'ast syn::$syntax) {
            self.within(&item.attrs, |finder| {
                finder.define(&item.$($name).+, ItemKind::$item);
                visit::$visit(finder, item);
            });
        })*
    };
}

impl<'ast> Visit<'ast> for Finder {
    define! {
        visit_item_struct: ItemStruct, Type, ident;
        visit_item_enum: ItemEnum, Type, ident;
        visit_item_union: ItemUnion, Type, ident;
        visit_item_type: ItemType, Type, ident;
        visit_item_trait: ItemTrait, Type, ident;
        visit_variant: Variant, Variant, ident;
        visit_item_fn: ItemFn, Function, sig.ident;
        visit_trait_item_fn: TraitItemFn, Function, sig.ident;
        visit_item_mod: ItemMod, Module, ident;
    }

    fn visit_trait_item_type(&mut self, item: &'ast syn::TraitItemType) {
        self.define(&item.ident, ItemKind::Type);
        self.found.last_mut().expect("it was just defined").within_trait = true;
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.define(name, ItemKind::Field);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.within(&item.attrs, |finder| {
            for function in &item.items {
                // A trait gave the names in its impls: they are ours only if it is, and then they are found
                // there.
                if let (syn::ImplItem::Fn(function), None) = (function, &item.trait_) {
                    finder.define(&function.sig.ident, ItemKind::Function);
                }
            }
            visit::visit_item_impl(finder, item);
        });
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
    use super::old::ItemKind::{Field, Function, Module, Type, Variant};
    use super::*;
    use crate::violation::lines_of;

    const ANY: [Old; 1] = [Old { old: "old", now: "new", kinds: &[Type, Variant, Function, Field, Module], place: &[] }];

    fn words(path: &str, text: &str, olds: &[Old]) -> Vec<(usize, &'static str)> {
        let tree = Tree::of([(path, text)]);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        lines_of(&check_with(&tree, &sources, olds, &[]))
    }

    #[test]
    fn an_old_word_is_found_at_the_line_of_its_definition() {
        for definition in [
            "struct old;",
            "pub enum old {}",
            "union old { a: u8 }",
            "type old = u8;",
            "trait old {}",
            "trait A { type old; }",
            "enum A { B, old(u8) }",
            "fn old() {}",
            "impl A { pub(crate) const fn old(&self) {} }",
            "trait A { fn old(); }",
            "struct A { old: u8 }",
            "enum A { B { old: u8 } }",
            "mod old;",
            "mod old {}",
            "mod a { fn f() { struct old; } }",
            "impl B for A { fn f() { fn old() {} } }",
            "#[cfg(test)] mod tests { struct A { old: u8 } }",
        ] {
            assert_eq!(words("a.rs", &format!("//! Why.\n\n{definition}\n"), &ANY), [(3, "old-word")], "{definition}");
        }
    }

    #[test]
    fn an_old_word_that_defines_nothing_of_ours_is_none() {
        for other in [
            "impl B for A { type old = u8; fn old(&self) {} }",
            "fn f(old: u8) -> u8 { let old = old + 1; g(|old| old); a.old() + b::old + old(1) }",
            "macro_rules! m { () => { fn old() {} }; }",
            "m! { struct old; }",
            "use a::old;",
            "fn f<old>() {}",
            "unsafe extern \"C\" { fn old(); }",
            "struct older { olds: u8 } // old",
        ] {
            assert_eq!(words("a.rs", other, &ANY), [], "{other}");
        }
    }

    #[test]
    fn a_row_is_of_its_kinds_and_places_alone() {
        let here = [Old { old: "old", now: "new", kinds: &[Function, Field], place: &["core/wait/", "lab/"] }];
        let text = "struct old {\n old: u8\n}\nenum A { old }\nfn old() {}\nmod old {}\n";
        for path in ["core/wait/src/a.rs", "lab/tests/a.rs"] {
            assert_eq!(words(path, text, &here), [(2, "old-word"), (5, "old-word")]);
        }
        for path in ["core/waiting/src/a.rs", "core/lab/src/a.rs", "a.rs"] {
            assert_eq!(words(path, text, &here), []);
        }
        let tree = Tree::of([("core/wait/a.rs", "fn old() {}")]);
        let told = check_with(&tree, &Source::all(&tree).0, &here, &[]);
        assert_eq!(told[0].to_string(), "core/wait/a.rs:1: old-word: `old` is the old word: call it `new`");
    }

    #[test]
    fn the_tables_do_not_contradict_themselves() {
        let meet = |a: &Old, b: &Old| a.kinds.iter().any(|kind| b.kinds.contains(kind));
        let near = |a: &Old, b: &Old| {
            let all = a.place.is_empty() || b.place.is_empty();
            all || a.place.iter().any(|a| b.place.iter().any(|b| a.starts_with(b) || b.starts_with(a)))
        };
        for (at, a) in OLD.iter().enumerate() {
            assert!(a.place.iter().all(|place| place.ends_with('/')), "{}: a place is a directory", a.old);
            for b in &OLD {
                assert!(!(meet(a, b) && near(a, b) && a.now == b.old), "{} is to be {}, which is old itself", a.old, a.now);
            }
            for b in &OLD[at + 1..] {
                assert!(!(meet(a, b) && near(a, b) && a.old == b.old), "{} has two rows", a.old);
            }
        }
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
        check_with(&tree, &sources, &[], listed).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_name_of_three_packages_is_found_where_the_first_defines_it() {
        let files = [
            ("core/a/src/a.rs", "\nstruct Gear;"),
            ("core/b/src/b.rs", "trait Gear {}"),
            ("core/b/c/src/c.rs", "type Gear = u8;"),
        ];
        let found = "core/a/src/a.rs:2: shared-name: `Gear` is a type of 3 packages (core/a/src/a.rs:2, core/b/src/b.rs:1, \
                     core/b/c/src/c.rs:1): give each its own name, or list the one meaning in xtask/src/tidy/vocabulary/mod.rs";
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
