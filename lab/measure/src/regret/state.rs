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
pub(super) type RunKey<'a> = (&'a str, &'a str, u32);

#[derive(Serialize, Deserialize)]
struct LogEntry {
    run: String,
    row: String,
    #[serde(flatten)]
    seen: StateLine,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StateLine {
    Process {
        column: String,
        start: u32,
        time: Time,
    },
    /// What other programs used meanwhile.
    Foreign {
        foreign_percent: f64,
    },
}

/// The results of one run: of one seed, with the same options, by the same programs.
pub(super) struct RegretLog {
    run: String,
    times: BTreeMap<(String, String, u32), Time>,
    foreign_percent: BTreeMap<String, f64>,
    file: Option<File>,
}

impl RegretLog {
    /// Reads the results of `run` in that file, to which others are added. Those of other runs stay there.
    pub(super) fn open(path: Option<&Path>, run: &str) -> Result<Self> {
        let mut log = Self { run: run.to_owned(), times: BTreeMap::new(), foreign_percent: BTreeMap::new(), file: None };
        let Some(path) = path else { return Ok(log) };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        // The last line of a run that was killed may be cut.
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let parsed: Vec<LogEntry> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        ensure!(parsed.len() + 1 >= lines.len(), "{} has lines that are no results; name another file", path.display());
        for LogEntry { row, seen, .. } in parsed.into_iter().filter(|line| line.run == run) {
            log.add(row, seen);
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(file)?;
        }
        log.file = Some(file);
        Ok(log)
    }

    fn add(&mut self, row: String, seen: StateLine) {
        match seen {
            StateLine::Process { column, start, time } => drop(self.times.insert((row, column, start), time)),
            // A row that was interrupted is as disturbed as its most disturbed part.
            StateLine::Foreign { foreign_percent } => {
                let most = self.foreign_percent.entry(row).or_insert(foreign_percent);
                *most = most.max(foreign_percent);
            }
        }
    }

    fn write(&mut self, row: &str, seen: StateLine) -> Result<()> {
        let line = LogEntry { run: self.run.clone(), row: row.to_owned(), seen };
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", serde_json::to_string(&line)?).context("cannot keep a result")?;
        }
        self.add(line.row, line.seen);
        Ok(())
    }

    pub(super) fn known(&self, (row, column, start): RunKey<'_>) -> Option<Time> {
        self.times.get(&(row.to_owned(), column.to_owned(), start)).copied()
    }

    /// The results of the first processes of a cell.
    pub(super) fn all(&self, row: &str, column: &str, starts: u32) -> Vec<Time> {
        (0..starts).filter_map(|start| self.known((row, column, start))).collect()
    }

    pub(super) fn foreign_percent(&self, row: &str) -> f64 {
        self.foreign_percent.get(row).copied().unwrap_or(f64::NAN)
    }

    pub(super) fn keep(&mut self, (row, column, start): RunKey<'_>, time: Time) -> Result<()> {
        self.write(row, StateLine::Process { column: column.to_owned(), start, time })
    }

    pub(super) fn keep_foreign(&mut self, row: &str, foreign_percent: f64) -> Result<()> {
        self.write(row, StateLine::Foreign { foreign_percent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_for_their_run_even_after_a_cut_line() {
        let path = std::env::temp_dir().join(format!("foregather-regret-state-{}", std::process::id()));
        let (key, time) = (("2t, 1 us", "ours", 3), Time { us: 1.5, cpu_us: 3.0 });
        RegretLog::open(Some(&path), "seven").unwrap().keep(key, time).unwrap();
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "{\"run\": \"seven\", \"ro").unwrap();
        let mut log = RegretLog::open(Some(&path), "seven").unwrap();
        assert_eq!((log.known(key), log.known(("2t, 1 us", "ours", 4))), (Some(time), None));
        log.keep(("2t, 1 us", "ours", 4), time).unwrap();
        log.keep_foreign("2t, 1 us", 7.0).unwrap();
        log.keep_foreign("2t, 1 us", 2.0).unwrap();
        let of = |run| RegretLog::open(Some(&path), run).unwrap();
        assert_eq!((of("seven").all("2t, 1 us", "ours", 9).len(), of("eight").all("2t, 1 us", "ours", 9).len()), (2, 0));
        assert_eq!(of("seven").foreign_percent("2t, 1 us"), 7.0);
        assert!(of("eight").foreign_percent("2t, 1 us").is_nan());
        std::fs::write(&path, "this is\nanother file\n").unwrap();
        assert!(RegretLog::open(Some(&path), "seven").is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
