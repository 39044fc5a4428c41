//! One Rust file as the rules see it: its text, its tokens and its syntax. Tokens reach into macro bodies,
//! where syntax does not.
use crate::tree::Tree;
use crate::violation::Violation;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::{Attribute, Item, Meta};

/// A parsed file.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) tokens: TokenStream,
    pub(crate) file: syn::File,
    /// Whether it is compiled for tests, benches or examples only.
    pub(crate) test: bool,
}

impl<'a> Source<'a> {
    fn parse(path: &'a str, text: &'a str) -> Result<Self, Violation> {
        let bad = |line, error: &dyn std::fmt::Display| Violation::new(path, line, "syntax", format!("does not parse: {error}"));
        let tokens: TokenStream = text.parse().map_err(|e: proc_macro2::LexError| bad(e.span().start().line, &e))?;
        let file: syn::File = syn::parse2(tokens.clone()).map_err(|e| bad(e.span().start().line, &e))?;
        Ok(Self { path, text, test: is_test_path(path), tokens, file })
    }

    /// The Rust files of a tree, and a violation for each that is none.
    pub(crate) fn all(tree: &'a Tree) -> (Vec<Self>, Vec<Violation>) {
        let (mut sources, mut violations) = (Vec::new(), Vec::new());
        for (path, text) in tree.ending(".rs") {
            match Self::parse(path, text) {
                Ok(source) => sources.push(source),
                Err(violation) => violations.push(violation),
            }
        }
        let test_modules: BTreeSet<String> = sources.iter().flat_map(Self::test_modules).collect();
        for source in &mut sources {
            let module = |end: &str| source.path.strip_suffix(end).map(str::to_owned);
            let ancestors = source.path.match_indices('/').map(|(at, _)| source.path[..at].to_owned());
            source.test |= ancestors.chain(module(".rs")).any(|place| test_modules.contains(&place));
        }
        (sources, violations)
    }

    /// Where the modules that this file declares for tests only have their files, without `.rs`.
    fn test_modules(&self) -> Vec<String> {
        let (directory, name) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        let home = match name {
            "lib.rs" | "main.rs" | "mod.rs" => directory.to_owned(),
            _ => self.path.trim_end_matches(".rs").to_owned(),
        };
        let modules = self.file.items.iter().filter_map(|item| match item {
            Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => Some(&module.ident),
            _ => None,
        });
        modules.map(|name| format!("{home}/{name}")).collect()
    }

    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| ["tests", "tests.rs", "benches", "examples"].contains(&part))
}

/// `#[test]`, `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            condition == "test" || (words[0] == "all" && words.contains(&"test") && !words.contains(&"not"))
        }
        _ => false,
    })
}

/// Calls `see` with the tokens of each nesting level, outermost first.
pub(crate) fn each_level(tokens: TokenStream, see: &mut impl FnMut(&[TokenTree])) {
    let level: Vec<TokenTree> = tokens.into_iter().collect();
    see(&level);
    for token in level {
        if let TokenTree::Group(group) = token {
            each_level(group.stream(), see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_parse_is_a_violation_at_its_line() {
        let tree = Tree::of([("a.rs", "//! A.\nfn f( {}\n"), ("b.rs", "//! B.\n\nfn f() { let; }\n"), ("c.rs", "//! C.\n")]);
        let (sources, violations) = Source::all(&tree);
        assert_eq!(sources.len(), 1);
        assert_eq!(violations.iter().map(|v| (v.line, v.rule)).collect::<Vec<_>>(), [(2, "syntax"), (3, "syntax")]);
    }

    #[test]
    fn files_of_test_modules_are_test_files() {
        let tree = Tree::of([
            ("a/src/lib.rs", "//! A.\n#[cfg(test)]\nmod fake;\n#[cfg(all(test, loom))]\nmod model;\nmod real;\n"),
            ("a/src/fake.rs", "//! F.\n"),
            ("a/src/model/mod.rs", "//! M.\n"),
            ("a/src/real.rs", "//! R.\n#[cfg(test)]\nmod inner;\n#[cfg(not(test))]\nmod outer;\n"),
            ("a/src/real/inner.rs", "//! I.\n"),
            ("a/src/real/outer.rs", "//! O.\n"),
            ("a/tests/whole.rs", "//! W.\n"),
        ]);
        let (sources, _) = Source::all(&tree);
        let tests: Vec<_> = sources.iter().filter(|source| source.test).map(|source| source.path).collect();
        assert_eq!(tests, ["a/src/fake.rs", "a/src/model/mod.rs", "a/src/real/inner.rs", "a/tests/whole.rs"]);
    }
}
