//! A file opens with why it exists, and no comment leaves work to others: unfinished work is an issue.
use crate::source::Source;
use crate::tree::Tree;
use crate::violation::Violation;

/// Marks of unfinished work. Each is in two pieces, or this file would contain it.
const BANNED: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("HA", "CK")];
/// Files whose comments begin with `#` or are not worth a parser: the marks may stand nowhere in them.
const OTHER_CODE: [&str; 8] = [".toml", ".sh", ".yml", ".yaml", ".css", ".js", ".html", ".ci/run"];

/// The first line of Rust files, and the comments of all code.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, _) in tree.ending(".rs").filter(|(_, text)| !text.starts_with("//!")) {
        violations.push(Violation::new(path, 1, "opening", "begin the file with `//!` and why it exists"));
    }
    for source in sources {
        violations.extend(source.comments.iter().filter_map(|(line, text)| banned(source.path, *line, text)));
    }
    for (path, text) in tree.texts().filter(|(path, _)| OTHER_CODE.iter().any(|end| path.ends_with(end))) {
        violations.extend(text.lines().enumerate().filter_map(|(at, line)| banned(path, at + 1, line)));
    }
    violations
}

fn banned(path: &str, line: usize, text: &str) -> Option<Violation> {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let word = words.find(|word| BANNED.contains(word))?;
    Some(Violation::new(path, line, "word", format!("`{word}`: finish it, or make it an issue and take the mark out")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    fn verdict(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        let tree = Tree::of([(path, text)]);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        lines_of(&check(&tree, &sources))
    }

    #[test]
    fn a_rust_file_opens_with_its_reason() {
        assert_eq!(verdict("a.rs", "//! Why.\nfn f() {}\n"), []);
        assert_eq!(verdict("a.rs", "fn f() {}\n"), [(1, "opening")]);
        assert_eq!(verdict("a.rs", "\n//! Why.\n"), [(1, "opening")]);
        assert_eq!(verdict("a.rs", ""), [(1, "opening")]);
    }

    #[test]
    fn marks_of_unfinished_work_are_found_in_comments_only() {
        for word in BANNED {
            assert_eq!(verdict("a.rs", &format!("//! Why.\nconst A: &str = \"{word}\"; // {word}S, a{word}\n")), []);
            assert_eq!(verdict("a.rs", &format!("//! Why.\n\nfn f() {{}} // Later ({word}: more)\n")), [(3, "word")]);
            assert_eq!(verdict("a.rs", &format!("//! Why.\n/// {word}\nfn f() {{}}\n")), [(2, "word")]);
            assert_eq!(verdict("a.rs", &format!("//! Why.\n/* a\n{word} */\n")), [(3, "word")]);
            assert_eq!(verdict(".ci/run", &format!("ls\n# {word}\nmktemp a{word}\n")), [(2, "word")]);
        }
    }
}
