//! Short files that open with why they exist: one concept each. Long functions are clippy's affair.
use crate::source::Source;
use crate::violation::Violation;

const FILE_LINES_MAX: usize = 600;
/// Rows of tables apart.
const COMMENT_COLUMNS_MAX: usize = 110;
const MEDIAN_LINES_MAX: usize = 200;

/// Violations, and the lengths in words.
pub(super) fn check(sources: &[Source<'_>]) -> (Vec<Violation>, String) {
    let mut violations = Vec::new();
    for source in sources {
        if !source.text.starts_with("//!") {
            violations.push(Violation::new(source.path, 1, "opening", "begin the file with `//!` and why it exists"));
        }
        let mut fenced = false;
        for (at, line) in source.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
            let columns = line.chars().count();
            fenced ^= line.contains("```");
            if columns > COMMENT_COLUMNS_MAX && !fenced && !line.contains('|') {
                let what = format!("a comment of {columns} columns: wrap it at {COMMENT_COLUMNS_MAX}");
                violations.push(Violation::new(source.path, at + 1, "comment-width", what));
            }
        }
        if source.lines() > FILE_LINES_MAX {
            let what = format!("{} lines, at most {FILE_LINES_MAX}: split it by concept", source.lines());
            violations.push(Violation::new(source.path, 1, "file-length", what));
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
    (violations, words)
}

/// Of the files that are not for tests; the upper one of two middles.
fn median(sources: &[Source<'_>]) -> usize {
    let mut lengths: Vec<usize> = sources.iter().filter(|source| !source.test).map(Source::lines).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
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
    fn a_file_opens_with_its_reason_and_wraps_its_comments() {
        let wide = |before: &str| format!("//! Why.\n{before}{}\n", "x".repeat(111 - before.len()));
        let of = |text: &str| verdict([("a.rs", text), ("b.rs", &file(1)), ("c.rs", &file(1))]);
        assert_eq!(of("fn f() {}\n"), [(1, "opening")]);
        assert_eq!(of(&wide("// ")), [(2, "comment-width")]);
        assert_eq!(of(&wide("// | ")), []);
        assert_eq!(of(&format!("//! Why.\n//! ```\n//! {}\n", "x".repeat(111))), []);
    }

    #[test]
    fn the_median_leaves_tests_out() {
        let (limit, long) = (file(200), file(201));
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &limit), ("c.rs", &limit)]), []);
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &long), ("c.rs", &limit)]), [(1, "median-length")]);
        assert_eq!(verdict([("a.rs", &long), ("b.rs", &limit), ("x/tests/c.rs", &long)]), [(1, "median-length")]);
        assert_eq!(verdict([("a.rs", &limit), ("x/tests/b.rs", &long), ("x/tests/c.rs", &long)]), []);
    }
}
