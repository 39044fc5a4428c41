//! Results so far, a line each, so that an interrupted run goes on where it ended.
use anyhow::{Context, Result, ensure};
use foregather_bench::CellResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// What one process came to: time and processor time of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Time {
    pub(super) us: f64,
    pub(super) cpu_us: f64,
}

impl Time {
    pub(super) fn of(cell: &CellResult) -> Self {
        Self { us: 1e6 / cell.episodes_per_s(), cpu_us: cell.cpu_us_per_episode() }
    }

    /// A process that did not end in its time: one episode in all of it.
    pub(super) fn collapsed(ms: u64) -> Self {
        let us = ms as f64 * 1e3;
        Self { us, cpu_us: us }
    }
}

/// Row, column and number of the process.
pub(super) type Key<'a> = (&'a str, &'a str, u32);

#[derive(Serialize, Deserialize)]
struct LogEntry {
    seed: u64,
    row: String,
    column: String,
    start: u32,
    time: Time,
}

/// The results of this seed.
pub(super) struct RegretLog {
    seed: u64,
    known: BTreeMap<(String, String, u32), Time>,
    file: Option<File>,
}

impl RegretLog {
    /// Reads the results of `seed` in that file, to which others are added.
    pub(super) fn open(path: Option<&Path>, seed: u64) -> Result<Self> {
        let mut state = Self { seed, known: BTreeMap::new(), file: None };
        let Some(path) = path else { return Ok(state) };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        // The last line of a run that was killed may be cut.
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let parsed = lines.iter().filter_map(|line| serde_json::from_str::<LogEntry>(line).ok());
        let parsed: Vec<LogEntry> = parsed.collect();
        ensure!(parsed.len() + 1 >= lines.len(), "{} has lines that are no results; name another file", path.display());
        for LogEntry { row, column, start, time, .. } in parsed.into_iter().filter(|line| line.seed == seed) {
            state.known.insert((row, column, start), time);
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(file)?;
        }
        state.file = Some(file);
        Ok(state)
    }

    pub(super) fn known(&self, (row, column, start): Key<'_>) -> Option<Time> {
        self.known.get(&(row.to_owned(), column.to_owned(), start)).copied()
    }

    pub(super) fn keep(&mut self, (row, column, start): Key<'_>, time: Time) -> Result<()> {
        let line = LogEntry { seed: self.seed, row: row.to_owned(), column: column.to_owned(), start, time };
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", serde_json::to_string(&line)?).context("cannot keep a result")?;
        }
        self.known.insert((line.row, line.column, start), time);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_for_their_seed_even_after_a_cut_line() {
        let path = std::env::temp_dir().join(format!("foregather-regret-state-{}", std::process::id()));
        let (key, time) = (("2t, 1 us", "ours", 3), Time { us: 1.5, cpu_us: 3.0 });
        RegretLog::open(Some(&path), 7).unwrap().keep(key, time).unwrap();
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "{\"seed\": 7, \"ro").unwrap();
        let mut state = RegretLog::open(Some(&path), 7).unwrap();
        assert_eq!((state.known(key), state.known(("2t, 1 us", "ours", 4))), (Some(time), None));
        state.keep(("2t, 1 us", "ours", 4), time).unwrap();
        let of = |seed| RegretLog::open(Some(&path), seed).unwrap().known(("2t, 1 us", "ours", 4));
        assert_eq!((of(7), of(8)), (Some(time), None));
        std::fs::write(&path, "this is\nanother file\n").unwrap();
        assert!(RegretLog::open(Some(&path), 7).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
