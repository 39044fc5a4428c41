//! Short files and short functions: one concept each, read without scrolling back. And a file opens with why it exists.
use crate::source::{Source, each_level};
use crate::violation::Violation;
use proc_macro2::{Delimiter, TokenTree};

const FILE_LINES_MAX: usize = 600;
const MEDIAN_LINES_MAX: usize = 200;
const FUNCTION_LINES_MAX: usize = 70;

/// A function body, from brace to brace.
struct FunctionBody {
    name: String,
    line: usize,
    lines: usize,
}

/// Violations, and the lengths in words.
pub(super) fn check(sources: &[Source<'_>]) -> (Vec<Violation>, String) {
    let mut violations = Vec::new();
    let mut longest: Option<(&str, FunctionBody)> = None;
    for source in sources {
        if source.lines() > FILE_LINES_MAX {
            let what = format!("{} lines, at most {FILE_LINES_MAX}: split it by concept", source.lines());
            violations.push(Violation::new(source.path, 1, "file-length", what));
        }
        for body in bodies(source) {
            if body.lines > FUNCTION_LINES_MAX {
                let what = format!("`{}` has {} lines, at most {FUNCTION_LINES_MAX}: split it", body.name, body.lines);
                violations.push(Violation::new(source.path, body.line, "function-length", what));
            }
            if longest.as_ref().is_none_or(|(_, longest)| longest.lines < body.lines) {
                longest = Some((source.path, body));
            }
        }
    }
    let median = median(sources);
    if median > MEDIAN_LINES_MAX {
        let what = format!("half of the Rust files without tests have {median} lines or more, at most {MEDIAN_LINES_MAX}");
        violations.push(Violation::new("Cargo.toml", 1, "median-length", what));
    }
    let mut words = format!("{} of them Rust with a median of {median} lines", sources.len());
    if let Some(source) = sources.iter().max_by_key(|source| source.lines()) {
        words += &format!(", longest file {} ({})", source.path, source.lines());
    }
    if let Some((path, body)) = longest {
        words += &format!(", longest function {} ({}, {path}:{})", body.name, body.lines, body.line);
    }
    (violations, words)
}

/// Of the files that are not for tests; the upper one of two middles.
fn median(sources: &[Source<'_>]) -> usize {
    let mut lengths: Vec<usize> = sources.iter().filter(|source| !source.test).map(Source::lines).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// All functions with a body, those within macros, impls and other functions included.
fn bodies(source: &Source<'_>) -> Vec<FunctionBody> {
    let mut bodies = Vec::new();
    each_level(source.tokens.clone(), &mut |level| {
        for (at, pair) in level.windows(2).enumerate() {
            if let [TokenTree::Ident(word), TokenTree::Ident(name)] = pair
                && word == "fn"
            {
                bodies.extend(body(&level[at + 2..]).map(|(line, lines)| FunctionBody { name: name.to_string(), line, lines }));
            }
        }
    });
    bodies
}

/// The first brace after a function's name is its body, unless a `;` comes before or it is a generic argument.
fn body(tokens: &[TokenTree]) -> Option<(usize, usize)> {
    for (at, token) in tokens.iter().enumerate() {
        let argument = || matches!(tokens.get(at + 1), Some(TokenTree::Punct(next)) if matches!(next.as_char(), '>' | ','));
        match token {
            TokenTree::Punct(mark) if mark.as_char() == ';' => return None,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !argument() => {
                let (first, last) = (group.span_open().start().line, group.span_close().start().line);
                return Some((first, last - first + 1));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use crate::violation::lines_of;

    fn verdict(files: [(&str, &str); 3]) -> Vec<(usize, &'static str)> {
        let tree = Tree::of(files);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        lines_of(&check(&sources).0)
    }

    fn file(lines: usize) -> String {
        "//! Why.\n".repeat(lines)
    }

    #[test]
    fn a_file_may_have_600_lines() {
        let (short, limit, long) = (file(1), file(600), file(601));
        assert_eq!(verdict([("a.rs", &limit), ("b.rs", &short), ("c.rs", &short)]), []);
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &short), ("c.rs", &short)]), [(1, "file-length")]);
    }

    #[test]
    fn the_median_leaves_tests_out() {
        let (limit, long) = (file(200), file(201));
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &limit), ("c.rs", &limit)]), []);
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &long), ("c.rs", &limit)]), [(1, "median-length")]);
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &limit), ("x/tests/c.rs", &long)]), [(1, "median-length")]);
        assert_eq!(verdict([("a.rs", &limit), ("x/tests/b.rs", &long), ("x/tests/c.rs", &long)]), []);
    }

    #[test]
    fn a_function_may_have_70_lines_wherever_it_stands() {
        let inside = |n: usize| "\n".repeat(n);
        let of = |n| format!("//! Why.\n#[test]\nfn f() -> [u8; {{ 1 }}] {{{}}}\n", inside(n));
        let method = |n| format!("//! Why.\nimpl A<{{ 1 }}> {{\nfn f() -> A<{{ 1 }}> {{{}}}\nfn g();}}\n", inside(n));
        let in_macro = |n| format!("//! Why.\nproptest! {{\n\nfn f(x in 0..3) {{{}}}\n}}\n", inside(n));
        for (good, bad, line) in [(of(69), of(70), 3), (method(69), method(70), 3), (in_macro(69), in_macro(70), 4)] {
            assert_eq!(verdict([("a.rs", &good), ("b.rs", "//! B."), ("c.rs", "//! C.")]), []);
            assert_eq!(verdict([("a.rs", &bad), ("b.rs", "//! B."), ("c.rs", "//! C.")]), [(line, "function-length")]);
        }
    }
}
