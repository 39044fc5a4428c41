//! The front door stays small: what stands at the root of the library, modules apart, can be counted on
//! fingers and toes.
use crate::source::Source;
use crate::violation::Violation;
use syn::{Item, UseTree, Visibility};

const ROOT: &str = "foregather/src/lib.rs";
const MOST_NAMES: usize = 20;

pub(super) fn check(sources: &[Source<'_>]) -> Vec<Violation> {
    let Some(source) = sources.iter().find(|source| source.path == ROOT) else { return Vec::new() };
    let names: Vec<String> = source.file.items.iter().flat_map(names).collect();
    if names.len() <= MOST_NAMES {
        return Vec::new();
    }
    let what =
        format!("the root has {} names, {MOST_NAMES} at most: move some into a module ({})", names.len(), names.join(", "));
    vec![Violation::new(ROOT, 1, "door", what)]
}

/// What an item adds to the root: a module adds a place, no name, and so does a crate that is renamed to one.
fn names(item: &Item) -> Vec<String> {
    let one = |vis: &Visibility, name: &dyn ToString| if is_public(vis) { vec![name.to_string()] } else { Vec::new() };
    match item {
        Item::Use(item) if is_public(&item.vis) => match &item.tree {
            UseTree::Rename(_) | UseTree::Name(_) => Vec::new(),
            tree => leaves(tree),
        },
        Item::Fn(item) => one(&item.vis, &item.sig.ident),
        Item::Struct(item) => one(&item.vis, &item.ident),
        Item::Enum(item) => one(&item.vis, &item.ident),
        Item::Trait(item) => one(&item.vis, &item.ident),
        Item::Type(item) => one(&item.vis, &item.ident),
        Item::Const(item) => one(&item.vis, &item.ident),
        Item::Static(item) => one(&item.vis, &item.ident),
        _ => Vec::new(),
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn leaves(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Path(path) => leaves(&path.tree),
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Name(name) => vec![name.ident.to_string()],
        UseTree::Rename(name) => vec![name.rename.to_string()],
        // As good as too many.
        UseTree::Glob(_) => vec!["*".to_owned(); MOST_NAMES + 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn violations(text: &str) -> Vec<Violation> {
        let tree = Tree::of([(ROOT, text)]);
        let (sources, _) = Source::all(&tree);
        check(&sources)
    }

    #[test]
    fn modules_and_crates_are_places_and_twenty_names_are_enough() {
        let places = "//! Why.\npub mod a;\npub use b as c;\nmod d;\n";
        let uses =
            |count: usize| format!("{places}pub use d::{{{}}};\n", (0..count).map(|n| format!("N{n}, ")).collect::<String>());
        assert_eq!(violations(&uses(20)), []);
        assert_eq!(violations(&uses(21)).len(), 1);
        assert_eq!(violations(&format!("{}pub fn f() {{}}\n", uses(20))).len(), 1);
        assert_eq!(violations(&format!("{}fn f() {{}}\nuse d::N;\n", uses(20))), []);
        assert_eq!(violations("//! Why.\npub use d::*;\n").len(), 1);
    }
}
