//! The lines of README, and what a user has before typing them.
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The mark in the first line of a block that is rehearsed.
const MARK: &str = "```sh rehearse";

/// A user's program with OpenMP, whose runtime the lines exchange.
const PROGRAM: &str = r#"#include <stdio.h>
int main(void) {
    double sum = 0;
    for (int turn = 0; turn < 1000; turn++)
#pragma omp parallel for reduction(+ : sum)
        for (int at = 0; at < 1000; at++) sum += at;
    printf("%.0f\n", sum);
}
"#;
/// A user's script.
const SCRIPT: &str = "import ctypes\nprint(ctypes.CDLL(None).omp_get_max_threads(), 'threads')\n";
/// A user's program in C.
const CODE: &str = r#"#include <foregather.h>
#include <stdio.h>
int main(void) { printf("version %u\n", fg_version()); }
"#;

/// The rehearsed blocks, and the program in Rust.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Readme {
    blocks: Vec<String>,
    rust: String,
}

impl Readme {
    /// Reads them.
    pub(super) fn of(readme: &str) -> Result<Self> {
        let blocks: Vec<_> = fenced(readme, MARK).collect();
        ensure!(!blocks.is_empty(), "README.md has no block that begins with `{MARK}`");
        let rust = fenced(readme, "```rust").next().context("README.md has no program in Rust")?;
        Ok(Self { blocks, rust })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Writes a script of all blocks, and the files that they name.
    pub(super) fn write(&self, work: &Path) -> Result<()> {
        fs::write(work.join("main.rs"), &self.rust)?;
        fs::write(work.join("program.c"), PROGRAM)?;
        fs::write(work.join("script.py"), SCRIPT)?;
        fs::write(work.join("code.c"), CODE)?;
        let mut script = String::from("set -euo pipefail\ncc -O2 -fopenmp -o program program.c\nexport OMP_NUM_THREADS=2\n");
        for block in &self.blocks {
            let first = block.lines().next().unwrap_or_default();
            // Megabytes are those that the block leaves in the home and in the folder.
            script.push_str("kb=$(du -sk \"$HOME\" . | awk '{s += $1} END {print s}') since=$SECONDS\n");
            writeln!(script, "echo '== {}'\n{block}", first.replace('\'', "'\\''"))?;
            script.push_str("kb=$(($(du -sk \"$HOME\" . | awk '{s += $1} END {print s}') - kb))\n");
            script.push_str("echo \"-- $((SECONDS - since)) s, $((kb / 1024)) MB\"\n");
        }
        Ok(fs::write(work.join("lines.sh"), script)?)
    }
}

/// Returns the texts of blocks whose first line is this one.
fn fenced<'t>(text: &'t str, first: &'t str) -> impl Iterator<Item = String> + 't {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        lines.by_ref().find(|line| *line == first)?;
        Some(lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_blocks_are_run_in_order() {
        let readme = "a\n```sh rehearse\nb\nc\n```\n```sh\nd\n```\n```rust\ne\n```\n```sh rehearse\nf\n```\n";
        let lines = Readme::of(readme).unwrap();
        assert_eq!(lines, Readme { blocks: vec!["b\nc\n".to_owned(), "f\n".to_owned()], rust: "e\n".to_owned() });
    }

    #[test]
    fn a_page_without_lines_is_refused() {
        assert!(Readme::of("```sh\nd\n```\n").unwrap_err().to_string().contains("no block"));
        assert!(Readme::of("```sh rehearse\nd\n```\n").unwrap_err().to_string().contains("Rust"));
    }

    #[test]
    fn the_readme_has_lines_for_every_audience() {
        let readme = fs::read_to_string(crate::build::root().unwrap().join("README.md")).unwrap();
        let all = Readme::of(&readme).unwrap().blocks.concat();
        for line in
            ["pip install foregather\n", "cargo add --quiet foregather", "foregather simulate", "tar -x", "exec --compare"]
        {
            assert!(all.contains(line), "{line}");
        }
    }
}
