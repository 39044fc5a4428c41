//! The names of the experiments, read from the source that registers them: `experiment("NAME", ..)`.
use crate::source::{Source, each_level};
use crate::tree::Tree;
use proc_macro2::{Delimiter, TokenTree};
use std::collections::BTreeSet;

/// Where experiments live.
pub(super) const HOME: &str = "lab/reproduce/src/";

/// Every first argument of `experiment(..)` that is a string, tests left out.
pub(super) fn all(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // A file that does not parse is the business of `tidy` and of the compiler.
    let (sources, _) = Source::all(tree);
    for source in sources.into_iter().filter(|source| source.path.starts_with(HOME) && !source.test) {
        each_level(source.tokens, &mut |level| {
            for pair in level.windows(2) {
                if let [TokenTree::Ident(word), TokenTree::Group(arguments)] = pair
                    && word == "experiment"
                    && arguments.delimiter() == Delimiter::Parenthesis
                    && let Some(TokenTree::Literal(first)) = arguments.stream().into_iter().next()
                    && let syn::Lit::Str(name) = syn::Lit::new(first)
                {
                    names.insert(name.value());
                }
            }
        });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_count_and_other_strings_do_not() {
        let code = "//! E.\n// experiment(\"comment\")\nfn all() {\n vec![experiment(\"a-b\", f), x::experiment(r\"c\")];\n \
                    say(\"experiment(\\\"string\\\")\"); experiment(name); other(\"d\"); }\n";
        let elsewhere = "//! E.\nfn f() { experiment(\"elsewhere\") }\n";
        let tree = Tree::of([
            ("lab/reproduce/src/a.rs", code),
            ("lab/reproduce/src/tests.rs", elsewhere),
            ("lab/measure/src/a.rs", elsewhere),
        ]);
        assert_eq!(all(&tree).into_iter().collect::<Vec<_>>(), ["a-b", "c"]);
    }
}
