//! The record of a job as a trace in GOAL, the trace format of LogGOPSim.
//!
//! Each rank appends its operations to a file of its own next to the trace: one line each, without labels.
//! When the job has ended, the launcher joins these files ([`JobTrace::join`]).
use crate::own;
use foregather_host::usage::thread_cpu;
use foregather_machine::{Error, Nanos, Rank};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Begins a line whose operation runs at the same time as the one before.
const TOGETHER: char = '+';

/// What one rank of this process records: the processor time between its calls, and its messages.
#[derive(Debug)]
pub struct RankRecorder {
    part: BufWriter<File>,
    path: PathBuf,
    /// The processor time of this thread when it last began to compute.
    resumed: Nanos,
    /// The first error of a write.
    failed: Option<io::Error>,
}

impl RankRecorder {
    /// Starts to record on the calling thread, if the launcher has asked for a record. A process that runs
    /// several jobs one after the other continues its record.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn begin(rank: Rank) -> Result<Option<Self>, Error> {
        let Some(trace) = std::env::var_os(own::RECORD).filter(|trace| !trace.is_empty()) else { return Ok(None) };
        let path = part_of(Path::new(&trace), rank);
        let part = OpenOptions::new().append(true).create(true).open(&path);
        let part = BufWriter::new(part.map_err(|error| failure(&path, &error))?);
        Ok(Some(Self { part, path, resumed: thread_cpu(), failed: None }))
    }

    /// Ends a computation: the program calls the library.
    pub fn pause(&mut self) {
        let computed = thread_cpu() - self.resumed;
        if computed > Nanos::ZERO {
            self.note(format_args!("calc {}", computed.0));
        }
    }

    /// Begins a computation: the library returns to the program.
    pub fn resume(&mut self) {
        self.resumed = thread_cpu();
    }

    /// Adds a message that this rank has sent.
    pub fn sent(&mut self, to: Rank, bytes: usize, tag: u32) {
        self.note(format_args!("send {bytes}b to {to} tag {tag}"));
    }

    /// Adds a message that this rank has received.
    pub fn received(&mut self, from: Rank, bytes: usize, tag: u32) {
        self.note(format_args!("recv {bytes}b from {from} tag {tag}"));
    }

    /// Adds a message that this rank has received while it sent the last one.
    pub fn received_meanwhile(&mut self, from: Rank, bytes: usize, tag: u32) {
        self.note(format_args!("{TOGETHER}recv {bytes}b from {from} tag {tag}"));
    }

    fn note(&mut self, line: fmt::Arguments<'_>) {
        if self.failed.is_none() {
            self.failed = writeln!(self.part, "{line}").err();
        }
    }

    /// Ends the record of this job.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn end(mut self) -> Result<(), Error> {
        self.pause();
        match self.failed.map_or_else(|| self.part.flush(), Err) {
            Ok(()) => Ok(()),
            Err(error) => Err(failure(&self.path, &error)),
        }
    }
}

/// Returns the file in which that rank records.
fn part_of(trace: &Path, rank: Rank) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(format!(".rank-{rank}"));
    path.into()
}

fn failure(path: &Path, error: &io::Error) -> Error {
    Error::other(format_args!("cannot write the record {}: {error}; choose another file with --record", path.display()))
}

/// What a job has recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceTotals {
    /// Calculations, sends and receives.
    pub operations: u64,
    /// Sends.
    pub messages: u64,
    /// The bytes of all sends.
    pub bytes: u64,
}

/// The trace of a job that is going to start, and the files of its ranks. They are removed when it is
/// dropped.
#[derive(Debug)]
pub struct JobTrace {
    path: PathBuf,
    ranks: u32,
}

impl JobTrace {
    /// Prepares to record a job of that many ranks.
    ///
    /// # Errors
    /// If no file can be created there.
    pub fn new(path: &Path, ranks: u32) -> Result<Self, Error> {
        let path = std::path::absolute(path).map_err(|error| failure(path, &error))?;
        if path.is_dir() {
            return Err(failure(&path, &ErrorKind::IsADirectory.into()));
        }
        let trace = Self { path, ranks };
        let beside = trace.beside();
        let tried = trace.remove_parts().and_then(|()| File::create(&beside)).and_then(|_| fs::remove_file(&beside));
        tried.map_err(|error| failure(&trace.path, &error))?;
        Ok(trace)
    }

    /// Returns the trace's file, as the ranks need it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the trace from the files of all ranks. It replaces an older one in one step.
    ///
    /// # Errors
    /// If a rank has recorded nothing, or a file cannot be read or written.
    pub fn join(&self) -> Result<TraceTotals, Error> {
        let (beside, mut totals) = (self.beside(), TraceTotals::default());
        let joined = self.write(&beside, &mut totals);
        if joined.is_err() {
            let _ = fs::remove_file(&beside);
        }
        joined?;
        fs::rename(&beside, &self.path).map_err(|error| failure(&self.path, &error))?;
        Ok(totals)
    }

    fn write(&self, into: &Path, totals: &mut TraceTotals) -> Result<(), Error> {
        let failed = |error: io::Error| failure(&self.path, &error);
        let mut into = BufWriter::new(File::create(into).map_err(failed)?);
        writeln!(into, "num_ranks {}", self.ranks).map_err(failed)?;
        for rank in 0..self.ranks {
            let part = part_of(&self.path, rank);
            let part = File::open(&part).map_err(|error| nothing_of(rank, &part, &error))?;
            writeln!(into, "rank {rank} {{").map_err(failed)?;
            copy(BufReader::new(part), &mut into, totals).map_err(failed)?;
            writeln!(into, "}}").map_err(failed)?;
        }
        into.flush().map_err(failed)
    }

    /// Returns where the trace is written until it is complete.
    fn beside(&self) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(format!(".{}.part", std::process::id()));
        path.into()
    }

    fn remove_parts(&self) -> io::Result<()> {
        let removed = (0..self.ranks).map(|rank| fs::remove_file(part_of(&self.path, rank)));
        removed.filter(|done| done.as_ref().is_err_and(|error| error.kind() != ErrorKind::NotFound)).collect()
    }
}

impl Drop for JobTrace {
    fn drop(&mut self) {
        let _ = self.remove_parts();
    }
}

fn nothing_of(rank: Rank, part: &Path, error: &io::Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return failure(part, error);
    }
    Error::other(format_args!(
        "rank {rank} recorded nothing: a program is recorded within `foregather::job` (in C, `fg_job`), and on other hosts only if \
         they share the folder of {}",
        part.display()
    ))
}

/// Copies a rank's operations, with labels. An operation waits for the one before, or for both that ran
/// together: for the beginning of a send, because a rank that sends receives meanwhile, and for the end of
/// any other.
fn copy(part: impl BufRead, into: &mut impl Write, totals: &mut TraceTotals) -> io::Result<()> {
    let (mut label, mut step, mut before) = (0_u64, Vec::new(), Vec::new());
    for line in part.lines() {
        let line = line?;
        let together = line.strip_prefix(TOGETHER);
        let operation = together.unwrap_or(&line);
        label += 1;
        if together.is_none() {
            before = std::mem::take(&mut step);
        }
        writeln!(into, "l{label}: {operation}")?;
        for (awaited, relation) in &before {
            writeln!(into, "l{label} {relation} l{awaited}")?;
        }
        totals.operations += 1;
        let message = operation.strip_prefix("send ");
        if let Some(message) = message {
            totals.messages += 1;
            totals.bytes += message.split_once('b').and_then(|(bytes, _)| bytes.parse::<u64>().ok()).unwrap_or(0);
        }
        step.push((label, if message.is_some() { "irequires" } else { "requires" }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_get_labels_and_their_order() {
        let part = "calc 50\nsend 8b to 1 tag 0\n+recv 4b from 1 tag 0\ncalc 7\n";
        let (mut text, mut totals) = (Vec::new(), TraceTotals::default());
        copy(part.as_bytes(), &mut text, &mut totals).unwrap();
        let expected = "l1: calc 50\nl2: send 8b to 1 tag 0\nl2 requires l1\nl3: recv 4b from 1 tag 0\nl3 requires l1\n\
                        l4: calc 7\nl4 irequires l2\nl4 requires l3\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!(totals, TraceTotals { operations: 4, messages: 1, bytes: 8 });
    }

    #[test]
    fn a_rank_without_a_record_is_named_and_no_file_is_left() {
        let folder = std::env::temp_dir().join(format!("foregather-recording-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("job.goal");
        fs::write(part_of(&path, 1), "calc 1\n").unwrap();
        let trace = JobTrace::new(&path, 2).unwrap();
        assert!(!part_of(&path, 1).exists(), "a part of an older job");
        fs::write(part_of(&path, 0), "calc 1\n").unwrap();
        let error = trace.join().unwrap_err().to_string();
        assert!(error.contains("rank 1 recorded nothing"), "{error}");
        fs::write(part_of(&path, 1), "").unwrap();
        assert_eq!(trace.join().unwrap().operations, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "num_ranks 2\nrank 0 {\nl1: calc 1\n}\nrank 1 {\n}\n");
        drop(trace);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        for place in [folder.clone(), folder.join("none/job.goal")] {
            let error = JobTrace::new(&place, 2).unwrap_err().to_string();
            assert!(error.contains("cannot write the record"), "{error}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
