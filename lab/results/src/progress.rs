//! Where a long measurement stands: one line on standard error, rewritten on a terminal, absent otherwise.
use foregather_machine::shown;
use std::io::{IsTerminal, Write, stderr};

/// A count towards a known total.
pub struct Progress {
    name: String,
    total: usize,
    done: usize,
    shown: bool,
}

impl Progress {
    /// `total` steps of `name`; silent if `quiet` or without a terminal.
    pub fn new(name: impl Into<String>, total: usize, quiet: bool) -> Self {
        Self { name: name.into(), total, done: 0, shown: !quiet && stderr().is_terminal() }
    }

    /// One step begins.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        if self.shown {
            let line: String = format!("{} {}/{} {what}", self.name, self.done, self.total).chars().take(100).collect();
            let line = shown(&line);
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(stderr(), "\r\x1b[K{line}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
