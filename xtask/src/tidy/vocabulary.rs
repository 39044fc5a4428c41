//! One idea has one name, and one name has one idea: a reader of three rooms learns each word once.
//!
//! A word that was replaced by the word of the field may not come back, and a type's name that more than two packages define is
//! listed with the one meaning it has in all of them. The two lists are in `vocabulary/`.
mod old;
mod shared;

use crate::source::{Source, is_for_tests};
use crate::tree::Tree;
use crate::violation::Violation;
use old::{ItemKind, OLD, Old};
use proc_macro2::Ident;
use shared::SHARED;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};

/// So many packages may give one name to types of their own.
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
    let remedy = "give each its own name, or list the one meaning in xtask/src/tidy/vocabulary/shared.rs";
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
                // A trait gave the names in its impls: they are ours only if it is, and then they are found there.
                if let (syn::ImplItem::Fn(function), None) = (function, &item.trait_) {
                    finder.define(&function.sig.ident, ItemKind::Function);
                }
            }
            visit::visit_item_impl(finder, item);
        });
    }
}

#[cfg(test)]
mod tests;
