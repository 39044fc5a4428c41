//! A program that is run several times in several ways, to be compared.
use anyhow::{Context, Result};
use foregather_host::child::Child;
use foregather_host::{clock, interrupt, usage};
use foregather_machine::{Nanos, SplitMix};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// How often a program runs, and what is kept of each run.
pub(crate) struct Repetition<'a> {
    /// Runs of each way, besides one to warm up.
    pub(crate) rounds: u32,
    /// A run that takes longer has failed, and is ended with the processes of its group.
    pub(crate) limit: Nanos,
    /// Files that the program writes, which belong to its output.
    pub(crate) results: &'a [PathBuf],
    /// The folder of which each run gets a fresh copy to work in.
    pub(crate) copied: Option<&'a Path>,
}

/// One run of the program.
pub(crate) struct ProgramRun {
    pub(crate) wall: Nanos,
    /// Processor time of all its threads, and of its children that have ended.
    pub(crate) cpu: Nanos,
    /// How it ended; `None` if it took too long.
    pub(crate) end: Option<ExitStatus>,
    /// What it printed, and what its files hold then.
    pub(crate) output: Vec<u8>,
}

impl Repetition<'_> {
    /// Runs all ways in turn, in random order within a round, and returns the runs of each way. The first
    /// round warms up. `command` makes the command of a way; `step` hears of each run. After an interrupt the
    /// rounds that were complete are kept.
    ///
    /// # Errors
    /// If the program cannot be started, or a folder not copied.
    pub(crate) fn run(
        &self,
        variants: usize,
        command: &dyn Fn(usize) -> Command,
        mut step: impl FnMut(usize),
    ) -> Result<Vec<Vec<ProgramRun>>> {
        let mut random = SplitMix(clock::now().0);
        let mut runs: Vec<Vec<ProgramRun>> = (0..variants).map(|_| Vec::new()).collect();
        for _ in 0..=self.rounds {
            let mut order: Vec<usize> = (0..variants).collect();
            (1..variants).rev().for_each(|last| order.swap(last, random.below(last as u64 + 1) as usize));
            let round: Result<Vec<(usize, ProgramRun)>> = order
                .into_iter()
                .map(|variant| {
                    step(variant);
                    Ok((variant, self.once(command(variant))?))
                })
                .collect();
            match round {
                Ok(round) => round.into_iter().for_each(|(variant, run)| runs[variant].push(run)),
                Err(_) if interrupt::requested() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(runs)
    }

    fn once(&self, mut command: Command) -> Result<ProgramRun> {
        let folder = self.copied.map(FolderCopy::of).transpose()?;
        if let Some(folder) = &folder {
            command.current_dir(&folder.0);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (began, cpu) = (clock::now(), usage::children_cpu());
        let said = Child::spawn_group(command)?.output_within(self.limit);
        let (wall, cpu) = (clock::now() - began, usage::children_cpu() - cpu);
        match said {
            Ok(said) => {
                let mut output = said.stdout;
                for file in self.results {
                    let path = folder.as_ref().map_or_else(|| file.clone(), |folder| folder.0.join(file));
                    // A file that is missing differs from an empty one.
                    output.extend(fs::read(path).map_or(b"\0missing".to_vec(), |bytes| [b"\0", &bytes[..]].concat()));
                }
                Ok(ProgramRun { wall, cpu, end: Some(said.status), output })
            }
            Err(_) if wall >= self.limit && !interrupt::requested() => {
                Ok(ProgramRun { wall, cpu, end: None, output: Vec::new() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// A copy of a folder, removed in the end.
struct FolderCopy(PathBuf);

impl FolderCopy {
    fn of(folder: &Path) -> Result<Self> {
        let copy = Self(std::env::temp_dir().join(format!("foregather-copy-{}", std::process::id())));
        copy_folder(folder, &copy.0).with_context(|| format!("cannot copy {} for a run", folder.display()))?;
        Ok(copy)
    }
}

impl Drop for FolderCopy {
    fn drop(&mut self) {
        // What cannot be removed stays: it lies in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, copy) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, copy)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

/// How far runs did the same.
pub(crate) enum Sameness {
    /// They ended alike and, unless runs differ anyway, put out the same.
    Same,
    /// What the program puts out differs because of the change alone.
    Output,
    /// It ends in another way.
    End,
}

/// How far a change, such as `the libraries`, leaves alone what the program does; the sentence says it.
pub(crate) fn sameness(without: &[ProgramRun], with: &[ProgramRun], change: &str) -> (String, Sameness) {
    let plain = &without[0];
    let hangs = without.iter().filter(|run| run.end.is_none()).count();
    if let Some(run) = with.iter().find(|run| run.end.is_none() || hangs == 0 && run.end != plain.end) {
        let (ours, theirs) = (described(run.end), described(plain.end));
        return (format!("with {change}: {ours}; without: {theirs}"), Sameness::End);
    }
    if hangs > 0 {
        let sentence = format!("{hangs} of {} runs without {change} did not end within their limit", without.len());
        return (sentence, Sameness::Same);
    }
    let repeats = without.iter().all(|run| run.output == plain.output);
    let same = with.iter().all(|run| run.output == plain.output);
    match (same, repeats) {
        (true, true) => ("what it prints is the same each time".to_owned(), Sameness::Same),
        (_, false) => (format!("what it prints differs from run to run, also without {change}"), Sameness::Same),
        (false, true) => (format!("what it prints differs with {change}"), Sameness::Output),
    }
}

/// An exit status in words.
pub(crate) fn described(end: Option<ExitStatus>) -> String {
    end.map_or("no end within its limit".to_owned(), |end| end.to_string())
}

/// Wall times, or processor times, in milliseconds.
pub(crate) fn times_ms(runs: &[ProgramRun], of: impl Fn(&ProgramRun) -> Nanos) -> Vec<f64> {
    runs.iter().map(|run| (of(run).0 as f64 / 1e6).max(1e-6)).collect()
}
