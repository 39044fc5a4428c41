//! The files of the repository: those that git tracks or would track, so that build products never matter.
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths relative to the root, with `/`, and the text of each; `None` for a file that is not UTF-8.
#[derive(Default)]
pub(crate) struct Tree(BTreeMap<String, Option<String>>);

impl Tree {
    /// The workspace that this program belongs to.
    pub(crate) fn of_workspace() -> Result<Self> {
        let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&here).parent().context("xtask must lie in a workspace")?.to_owned();
        ensure!(root.join("Cargo.toml").is_file(), "{} is no workspace; run `cargo xtask` within one", root.display());
        Self::read(&root)
    }

    fn read(root: &Path) -> Result<Self> {
        let paths = match list_by_git(root) {
            Some(paths) => paths,
            None => list_by_walk(root)?,
        };
        let mut files = BTreeMap::new();
        for path in paths {
            let place = root.join(&path);
            // Git still lists a file that was deleted but not staged, and may list a link to a directory.
            if place.is_file() {
                let bytes = std::fs::read(&place).with_context(|| format!("cannot read {}", place.display()))?;
                files.insert(path, String::from_utf8(bytes).ok());
            }
        }
        Ok(Self(files))
    }

    /// All files with their text, in the order of their paths.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The paths of all files that are not text.
    pub(crate) fn binaries(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(path, text)| text.is_none().then_some(path.as_str()))
    }

    /// Those texts whose path ends so.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts().filter(move |(path, _)| path.ends_with(end))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// Returns whether there is such a file or directory.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        path.is_empty() || self.0.contains_key(path) || self.0.keys().any(|key| key.starts_with(&inside))
    }

    /// A tree in memory.
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self(files.into_iter().map(|(path, text)| (path.to_owned(), Some(text.to_owned()))).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

fn list_by_git(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    let paths: Vec<String> = String::from_utf8(output.stdout).ok()?.split_terminator('\0').map(str::to_owned).collect();
    // An enclosing repository that ignores this directory lists nothing: no repository of ours.
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn list_by_walk(root: &Path) -> Result<Vec<String>> {
    let (mut paths, mut pending) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = pending.pop() {
        let place = root.join(&directory);
        for entry in std::fs::read_dir(&place).with_context(|| format!("cannot list {}", place.display()))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                if !["target", ".git"].iter().any(|skipped| path.ends_with(skipped)) {
                    pending.push(path);
                }
            } else if let Some(path) = path.to_str() {
                paths.push(path.to_owned());
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of this test alone, removed when it ends.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("target/debug")).unwrap();
            std::fs::create_dir_all(path.join("core/src")).unwrap();
            for (file, bytes) in [("target/debug/a.rs", "x"), ("core/src/lib.rs", "//! A.\n"), (".gitignore", "/target\n*.o\n")] {
                std::fs::write(path.join(file), bytes).unwrap();
            }
            std::fs::write(path.join("core/image"), [0xff, 0xfe]).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    fn check(tree: &Tree) {
        let texts: Vec<_> = tree.texts().collect();
        assert_eq!(texts, [(".gitignore", "/target\n*.o\n"), ("core/src/lib.rs", "//! A.\n")]);
        assert!(tree.holds("core/image") && tree.holds("core/src") && !tree.holds("core/sr") && !tree.holds("target"));
    }

    #[test]
    fn without_git_the_walk_skips_build_products() {
        let scratch = Scratch::new("walk");
        check(&Tree::read(&scratch.0).unwrap());
    }

    #[test]
    fn with_git_untracked_files_count_and_ignored_ones_do_not() {
        let scratch = Scratch::new("git");
        let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(&scratch.0).output();
        if git(&["init", "--quiet"]).is_ok_and(|output| output.status.success()) {
            std::fs::write(scratch.0.join("core/ignored.o"), "x").unwrap();
            std::fs::write(scratch.0.join("gone.rs"), "x").unwrap();
            assert!(git(&["add", "gone.rs"]).unwrap().status.success());
            std::fs::remove_file(scratch.0.join("gone.rs")).unwrap();
            check(&Tree::read(&scratch.0).unwrap());
        }
    }
}
