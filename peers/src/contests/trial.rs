//! One run of a program, as it is or with the library under test preloaded.
use crate::PeerError;
use crate::bound::DropIn;
use anyhow::{Context, Result};
use foregather_host::watched::page::{self, WatchPage};
use foregather_host::watched::path_of;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A library with which programs must behave as they do without it.
#[derive(Debug)]
pub(super) enum LibraryUnderTest {
    /// A runtime that takes the place of the program's own.
    Runtime(DropIn),
    /// The preload layer of `foregather advise`, with a page to record into.
    Watch(DropIn),
}

/// How one run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CaseRun {
    /// `None` if the program was killed because its time was over.
    pub(super) end: Option<ExitStatus>,
    pub(super) printed: Vec<u8>,
    pub(super) took: Duration,
    /// Whether the loader bound the program to the runtime, or the preload layer recorded a thread.
    pub(super) took_part: bool,
}

impl LibraryUnderTest {
    /// The library that an option names: `--library`, a runtime, or `--watch`.
    pub(super) fn of(option: &str, file: &str) -> Result<Self, PeerError> {
        let drop_in = DropIn::of(fs::canonicalize(file).with_context(|| file.to_owned())?)?;
        Ok(if option == "--watch" { Self::Watch(drop_in) } else { Self::Runtime(drop_in) })
    }

    fn drop_in(&self) -> &DropIn {
        let (Self::Runtime(drop_in) | Self::Watch(drop_in)) = self;
        drop_in
    }

    pub(super) fn path(&self) -> &Path {
        &self.drop_in().library
    }

    /// The names of OpenMP that it has.
    pub(super) fn exported(&self) -> &HashSet<String> {
        &self.drop_in().exported
    }

    /// The option that names it.
    pub(super) fn option(&self) -> &'static str {
        if matches!(self, Self::Runtime(_)) { "--library" } else { "--watch" }
    }

    /// Whether the program can run with it. The preload layer needs nothing of a program.
    pub(super) fn serves(&self, program: &Path) -> Result<bool> {
        match self {
            Self::Runtime(drop_in) => drop_in.serves(program),
            Self::Watch(_) => Ok(true),
        }
    }

    /// Whether each run has to take part: programs without regions have nothing to record.
    pub(super) fn must_take_part(&self) -> bool {
        matches!(self, Self::Runtime(_))
    }
}

/// Runs a program in a folder that nothing else uses, and kills it after `limit`.
pub(super) fn run(command: &mut Command, folder: &Path, library: Option<&LibraryUnderTest>, limit: Duration) -> Result<CaseRun> {
    let program = PathBuf::from(command.get_program());
    let (bindings, printed) = (folder.join("bindings"), folder.join("printed"));
    command.stdin(Stdio::null()).stdout(fs::File::create(&printed)?).stderr(Stdio::null()).current_dir(folder);
    let mut recorded = None;
    match library {
        Some(LibraryUnderTest::Runtime(drop_in)) => drop_in.preload(command, &bindings),
        Some(LibraryUnderTest::Watch(drop_in)) => {
            let (page, descriptor) = WatchPage::create()?;
            command.env("LD_PRELOAD", &drop_in.library).env(page::VARIABLE, path_of(&descriptor));
            recorded = Some((page, descriptor));
        }
        None => {}
    }
    let began = Instant::now();
    let mut child = command.spawn().with_context(|| program.display().to_string())?;
    let end = loop {
        match child.try_wait()? {
            Some(end) => break Some(end),
            None if began.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let took = began.elapsed();
    let mut took_part = recorded.is_some_and(|(page, _)| !page.threads().is_empty());
    for entry in fs::read_dir(folder)? {
        let entry = entry?.path();
        if entry.file_stem() != bindings.file_name() {
            continue;
        }
        if let Some(library) = library.filter(|_| entry.extension().is_some_and(|id| *id == *child.id().to_string())) {
            took_part |= library.drop_in().is_bound(&fs::read_to_string(&entry).unwrap_or_default(), &program);
        }
        fs::remove_file(entry)?;
    }
    Ok(CaseRun { end, printed: fs::read(&printed)?, took, took_part })
}
