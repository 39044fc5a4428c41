//! One Rust file as the rules see it: its text, its tokens, its syntax and its comments.
//!
//! Tokens reach into macro bodies, where syntax does not; comments are what is left of the text beside the
//! tokens.
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
    /// The lines of all comments, doc comments included: their number and what the comment says there.
    pub(crate) comments: Vec<(usize, String)>,
    /// Is it compiled for tests, benches or examples only?
    pub(crate) test: bool,
}

impl<'a> Source<'a> {
    fn parse(path: &'a str, text: &'a str) -> Result<Self, Violation> {
        let bad = |line, error: &dyn std::fmt::Display| Violation::new(path, line, "syntax", format!("does not parse: {error}"));
        let tokens: TokenStream = text.parse().map_err(|e: proc_macro2::LexError| bad(e.span().start().line, &e))?;
        let file: syn::File = syn::parse2(tokens.clone()).map_err(|e| bad(e.span().start().line, &e))?;
        let comments = comments(&without_literals(text, &tokens));
        Ok(Self { path, text, test: is_test_path(path), tokens, file, comments })
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

/// The text with every string, character and number blanked, so that `//` can only begin a comment.
fn without_literals(text: &str, tokens: &TokenStream) -> String {
    let mut text = text.to_owned();
    each_level(tokens.clone(), &mut |level| {
        for token in level {
            if let TokenTree::Literal(literal) = token {
                let range = literal.span().byte_range();
                // A doc comment is a literal too, one that spans the comment.
                if !text[range.clone()].starts_with("//") && !text[range.clone()].starts_with("/*") {
                    let blank: String = text[range.clone()].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
                    text.replace_range(range, &blank);
                }
            }
        }
    });
    text
}

fn comments(code: &str) -> Vec<(usize, String)> {
    let (mut comments, mut at) = (Vec::new(), 0);
    while let Some(start) = code[at..].find('/').map(|found| at + found) {
        let rest = &code[start..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else {
            at = start + 1;
            continue;
        };
        let first = code[..start].matches('\n').count() + 1;
        comments.extend(rest[..length].lines().enumerate().map(|(i, line)| (first + i, line.to_owned())));
        at = start + length;
    }
    comments
}

/// The length of the block comment that `text` begins with. They nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(['/', '*']).map(|found| at + found) {
        let (step, change) = match text.as_bytes().get(found..found + 2) {
            Some(b"/*") => (2, 1),
            Some(b"*/") => (2, -1),
            _ => (1, 0),
        };
        (at, depth) = (found + step, depth + change);
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comments_of(text: &str) -> Vec<(usize, String)> {
        Source::parse("a.rs", text).unwrap_or_else(|violation| panic!("{violation}")).comments
    }

    #[test]
    fn comments_are_found_beside_strings_that_look_like_them() {
        let text = "//! Why é.\nconst A: &str = \"// no /* no\"; // yes\n/* two /* deep */ here\nthere */\n\
                    const B: char = '/'; const C: u8 = 4 / 2;\nconst D: &str = r#\"// no\n// no\"#; // end\n";
        let expected = [(1, "//! Why é."), (2, "// yes"), (3, "/* two /* deep */ here"), (4, "there */"), (7, "// end")];
        assert_eq!(comments_of(text), expected.map(|(line, text)| (line, text.to_owned())));
    }

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
