//! The repository stands alone: nothing in it points outside, at the place it was written in, or at a package
//! registry.
use crate::tree::Tree;
use crate::violation::Violation;

/// What no file may contain. Each is in two pieces, or this file would contain it.
const OUTSIDE: [&str; 4] = [concat!("../", "shared"), concat!("/", "work/"), concat!(".", "library/"), concat!("/.", "library")];
const REGISTRIES: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("py", "pi.org"),
    concat!("npm", "js"),
    concat!("proxy.", "golang.org"),
    concat!("deb.", "debian.org"),
    concat!("maven", ".org"),
];
/// Cargo writes it, registry included.
const LOCK_FILE: &str = "Cargo.lock";

/// Every text file, line by line.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != LOCK_FILE) {
        for (at, line) in text.lines().enumerate() {
            for (needles, why) in [(&OUTSIDE[..], "leads outside the repository"), (&REGISTRIES, "names a package registry")] {
                if let Some(needle) = needles.iter().find(|needle| line.contains(**needle)) {
                    let what = format!("`{needle}` {why}: the project stands alone, take it out");
                    violations.push(Violation::new(path, at + 1, "mention", what));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    #[test]
    fn ordinary_text_passes() {
        let text = "self.library.open(\"work/a\")\n ../lab/src\nhttps://docs.rs/syn\n";
        let locked = REGISTRIES[0];
        assert_eq!(check(&Tree::of([("a.rs", text), ("Cargo.lock", locked)])), []);
    }

    #[test]
    fn every_needle_is_found_in_any_file() {
        for needle in OUTSIDE.iter().chain(&REGISTRIES) {
            let text = format!("fine\nsee `{needle}` there\n");
            for path in ["a.rs", "docs/a.md", ".ci/run"] {
                assert_eq!(lines_of(&check(&Tree::of([(path, &text)]))), [(2, "mention")], "{needle}");
            }
        }
    }
}
