//! Where a long measurement stands: one line on standard error, rewritten on a terminal, absent otherwise.
use foregather_host::clock;
use foregather_machine::{Nanos, shown};
use std::io::{IsTerminal, Write, stderr};

/// A longer line would wrap on most terminals, and then it could not be rewritten.
const LONGEST: usize = 79;

/// A count towards a known total.
pub struct ProgressMeter {
    name: String,
    total: usize,
    /// Steps that began.
    begun: usize,
    began: Nanos,
    /// Characters of the line that the terminal shows.
    width: usize,
    shown: bool,
}

impl ProgressMeter {
    /// `total` steps of `name`; silent if `quiet` or without a terminal.
    pub fn new(name: impl Into<String>, total: usize, quiet: bool) -> Self {
        let shown = !quiet && stderr().is_terminal();
        Self { name: name.into(), total, begun: 0, began: clock::now(), width: 0, shown }
    }

    /// One step begins.
    pub fn step(&mut self, what: &str) {
        self.begun += 1;
        if self.shown {
            let elapsed = clock::now() - self.began;
            let line: String = self.line(what, elapsed).chars().take(LONGEST).collect();
            self.show(&line);
        }
    }

    /// How far it is, and how long the rest takes if its steps take as long as those before.
    fn line(&self, what: &str, elapsed: Nanos) -> String {
        let Self { name, begun, total, .. } = self;
        let (done, rest) = (begun.saturating_sub(1), (total + 1).saturating_sub(*begun));
        let left = if done == 0 { String::new() } else { left(elapsed.as_secs() / done as f64 * rest as f64) };
        format!("{name} {begun}/{total}{left}  {what}")
    }

    /// Writes the line over the last one. Spaces cover what was longer, so no terminal has to know a sequence
    /// for that.
    fn show(&mut self, line: &str) {
        let line = shown(line);
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(stderr(), "\r{line:<0$}", self.width);
        self.width = line.chars().count();
    }
}

/// The time that is left, where it is long enough to matter.
fn left(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => String::new(),
        s if s < 99.5 => format!(", about {s:.0} s left"),
        s if s < 5_970.0 => format!(", about {:.0} min left", s / 60.0),
        s => format!(", about {:.1} h left", s / 3_600.0),
    }
}

impl Drop for ProgressMeter {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(stderr(), "\r{:1$}\r", "", self.width);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_count_and_the_time_left() {
        let at = |begun, seconds: u64| {
            let progress =
                ProgressMeter { name: "exec".to_owned(), total: 12, begun, began: Nanos::ZERO, width: 0, shown: false };
            progress.line("with", Nanos::from_ms(seconds * 1_000))
        };
        assert_eq!(at(1, 0), "exec 1/12  with", "nothing is known before the first step is done");
        assert_eq!(at(3, 4), "exec 3/12, about 20 s left  with");
        assert_eq!(at(2, 60), "exec 2/12, about 11 min left  with");
        assert_eq!(at(2, 3_600), "exec 2/12, about 11.0 h left  with");
        assert_eq!(at(12, 1), "exec 12/12  with", "less than a second is not worth a word");
    }
}
