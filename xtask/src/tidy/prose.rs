//! Comments read aloud: threads, ranks and callers act in them, not persons; each says something; each fits
//! its width.
//!
//! It covers the comments of Rust files, and the README of a room. Code between backticks or in a fence may
//! say anything. Strings are no comments: tests and documents compare them.
use crate::source::Source;
use crate::tree::Tree;
use crate::violation::Violation;

/// Persons. A comment names the thread, the rank, the process or the caller instead.
const PERSONS: [&str; 20] = [
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "he",
    "her",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "nobody",
    "people",
    "she",
    "somebody",
    "someone",
    "who",
    "whoever",
    "whom",
    "whomever",
];
/// Beginnings of a comment that does not say what it is about.
const EMPTY: [&str; 4] = ["That.", "The same, ", "The same.", "What came of "];
/// A reason why code is sound cites a contract; these words cite none.
const NO_REASON: [&str; 4] = ["as above", "passed on", "vouch", "says the caller"];
/// A quantity that is not said. A comment says it: `n` members, that number of times, the most bytes.
const HOLLOW: [&str; 2] = ["so", "many"];
/// Comments wrap here, rows of tables apart.
const COLUMNS: usize = 110;
const README: &str = "README.md";

/// The comments and READMEs of all rooms.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    let held = |path: &str| path.contains('/');
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| held(source.path)) {
        let (mut reader, lines) = (Reader::default(), source.text.lines().collect::<Vec<_>>());
        for (line, comment) in &source.comments {
            violations.extend(reader.read(source.path, *line, said(comment)));
            let columns = lines[line - 1].chars().count();
            if columns > COLUMNS && !reader.in_fence && breaks(lines[line - 1], comment) {
                let what = format!("a comment of {columns} columns: wrap it at {COLUMNS}");
                violations.push(Violation::new(source.path, *line, "prose", what));
            }
        }
    }
    for (path, text) in tree.ending(README).filter(|(path, _)| held(path)) {
        let mut reader = Reader::default();
        violations.extend(text.lines().enumerate().flat_map(|(at, line)| reader.read(path, at + 1, line)));
    }
    violations
}

/// The text of a comment's line, without the marks before it.
fn said(comment: &str) -> &str {
    let rest = comment.trim_start().trim_start_matches(['/', '*']);
    rest.strip_prefix('!').unwrap_or(rest)
}

/// Can the line be broken? Not behind code, and not in a row of a table.
fn breaks(line: &str, comment: &str) -> bool {
    line.trim_start().starts_with("//") && !said(comment).trim_start().starts_with('|')
}

fn is_mark(c: char) -> bool {
    !c.is_alphanumeric()
}

/// Reads lines in order, since a fence or a span of code may begin in one and end in a later one.
#[derive(Default)]
struct Reader {
    /// The number of the last line.
    last: usize,
    in_fence: bool,
    in_code: bool,
    /// Did the last line end with the first word of [`HOLLOW`]?
    half_hollow: bool,
    /// Does a reason why code is sound go on here?
    in_reason: bool,
}

impl Reader {
    fn read(&mut self, path: &str, line: usize, text: &str) -> Vec<Violation> {
        let begins = line != self.last + 1;
        if begins {
            *self = Self::default();
        }
        self.last = line;
        let text = text.trim();
        if text.starts_with("```") {
            self.in_fence = !self.in_fence;
            return Vec::new();
        }
        if self.in_fence {
            return Vec::new();
        }
        if text.is_empty() {
            self.in_code = false;
        }
        self.in_reason |= text.starts_with("SAFETY:");
        let prose = self.prose(text);
        let mut violations = Vec::new();
        let mut add = |what: String| violations.push(Violation::new(path, line, "prose", what));
        let mut words = prose.split(is_mark).map(str::to_lowercase);
        if let Some(person) = words.find(|word| PERSONS.contains(&word.as_str())) {
            add(format!("`{person}` is a person: name the thread, the rank, the process or the caller"));
        }
        if self.is_hollow(&prose) {
            add(format!("`{}` says no quantity: say which it is", HOLLOW.join(" ")));
        }
        if let Some(empty) = EMPTY.iter().find(|empty| begins && (text.starts_with(**empty) || text == empty.trim_end())) {
            add(format!("`{}` says nothing: say what it is", empty.trim_end()));
        }
        if let Some(words) = NO_REASON.iter().find(|words| self.in_reason && prose.to_lowercase().contains(**words)) {
            add(format!("`{words}` is no reason: cite the `# Safety` section, or state what holds"));
        }
        violations
    }

    /// Are the words of [`HOLLOW`] in this line, or the second one after the first one in the line before?
    fn is_hollow(&mut self, prose: &str) -> bool {
        let mut found = false;
        for word in prose.split_whitespace().map(str::to_lowercase) {
            let [begins, ends] = [word.trim_start_matches(is_mark), word.trim_end_matches(is_mark)];
            found |= self.half_hollow && ends == HOLLOW[1];
            self.half_hollow = begins == HOLLOW[0];
        }
        found
    }

    /// A line without its code.
    fn prose(&mut self, text: &str) -> String {
        let mut prose = String::new();
        for (at, piece) in text.split('`').enumerate() {
            self.in_code ^= at > 0;
            prose += if self.in_code { " " } else { piece };
        }
        prose
    }
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
    fn persons_are_found_in_comments_and_not_in_code() {
        for person in PERSONS {
            assert_eq!(
                verdict("core/a.rs", &format!("//! Why.\n/// It waits for {person}, too.\nfn f() {{}}\n")),
                [(2, "prose")]
            );
            assert_eq!(
                verdict("core/a.rs", &format!("//! Why.\nfn f() {{}} // {}{}.\n", person[..1].to_uppercase(), &person[1..])),
                [(2, "prose")]
            );
            assert_eq!(verdict("core/README.md", &format!("# A\n\nIt waits for {person}.\n")), [(3, "prose")]);
            assert_eq!(verdict("core/a.rs", &format!("//! Why.\nconst A: &str = \"{person}\"; // a{person} `{person}`\n")), []);
            assert_eq!(verdict("core/README.md", &format!("# A\n\n```\n{person}\n```\n\nA `b\n{person}` c.\n")), []);
            assert_eq!(verdict("a.md", &format!("For {person}.\n")), []);
        }
    }

    #[test]
    fn a_span_of_code_ends_with_its_comment() {
        assert_eq!(verdict("core/a.rs", "//! A `b.\n\n/// For him.\nfn f() {}\n"), [(3, "prose")]);
        assert_eq!(verdict("core/a.rs", "//! A `b.\n//!\n//! For him.\n"), [(3, "prose")]);
    }

    #[test]
    fn a_comment_says_what_it_is_about() {
        for empty in ["That.", "The same, later.", "The same.", "What came of it."] {
            assert_eq!(verdict("core/a.rs", &format!("//! Why.\n\n/// {empty}\nfn f() {{}}\n")), [(3, "prose")]);
            assert_eq!(verdict("core/a.rs", &format!("//! Why.\n\n/// Returns\n/// {empty}\nfn f() {{}}\n")), []);
        }
    }

    #[test]
    fn a_quantity_is_said() {
        for hollow in ["So many bytes.", "Of (so many) bytes.", "Of so\n/// many bytes."] {
            let lines = hollow.lines().count();
            assert_eq!(verdict("core/a.rs", &format!("//! Why.\n\n/// {hollow}\nfn f() {{}}\n")), [(2 + lines, "prose")]);
        }
        assert_eq!(verdict("core/README.md", "# A\n\nOf so many bytes.\n"), [(3, "prose")]);
        for said in ["They do so. Many do.", "How many so far.", "`so many`", "So.\n\n/// Many."] {
            assert_eq!(verdict("core/a.rs", &format!("//! Why.\n\n/// {said}\nfn f() {{}}\n")), []);
        }
        assert_eq!(verdict("core/a.rs", "//! Why.\nconst A: &str = \"so many\";\n"), []);
    }

    #[test]
    fn a_reason_cites_its_contract() {
        for words in NO_REASON {
            let text = |comment: &str| format!("//! Why.\nfn f() {{\n    // {comment}\n    // {words}.\n    g();\n}}\n");
            assert_eq!(verdict("core/a.rs", &text("SAFETY: the pointer is valid,")), [(4, "prose")]);
            assert_eq!(verdict("core/a.rs", &text("The pointer is valid,")), []);
        }
    }

    #[test]
    fn comments_wrap_and_rows_of_tables_need_not() {
        let wide =
            |before: &str, columns: usize| format!("//! Why.\n\n{before}{}\nfn f() {{}}\n", "x".repeat(columns - before.len()));
        assert_eq!(verdict("core/a.rs", &wide("/// ", 110)), []);
        assert_eq!(verdict("core/a.rs", &wide("/// ", 111)), [(3, "prose")]);
        assert_eq!(verdict("core/a.rs", &wide("/// | ", 111)), []);
        assert_eq!(verdict("core/a.rs", &wide("/// ```\n/// ", 119)), []);
        assert_eq!(verdict("core/a.rs", &wide("const A: u8 = 1; // ", 111)), []);
    }
}
