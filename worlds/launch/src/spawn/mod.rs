//! The launcher itself: starts the ranks of a job, shows their output, and makes sure that all of them end.
//!
//! The first rank that ends badly ends the job. The others get a while to report what that means for them,
//! then SIGTERM, then SIGKILL. Each rank has a process group of its own, which ends with it. A [`Guardian`]
//! ends processes that have left their group, and all of the job if the launcher is killed or asked twice to
//! stop: nothing is left behind.
mod hosts;
mod lines;
mod outlet;
mod rank;
mod remote;
mod variables;

pub use hosts::Host;
pub(crate) use variables::FABRIC;

use crate::notice::Notices;
use crate::settings::Settings;
use foregather_host::guardian::Guardian;
use foregather_host::{clock, interrupt};
use foregather_machine::{Cause, Error, Nanos, Rank};
use outlet::Outlets;
use rank::Running;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use variables::Variables;

/// The longest time between two looks.
const SLICE: Nanos = Nanos::from_ms(50);
/// How long the system may take to end a process that holds much memory, before the launcher gives up
/// waiting.
const ENDING: Nanos = Nanos::from_ms(500);
/// Between asking a rank to end and killing it.
const TERMINATING: Nanos = Nanos::from_ms(1_000);
/// Beyond the time in which ranks learn of a loss: for their messages about it.
const LAST_WORDS: Nanos = Nanos::from_ms(1_000);
/// The status that a shell shows for a program ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// The status of the command where this machine cannot do its part, as on a full disk.
const CANNOT: u8 = 3;

/// The job to start.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The number of ranks.
    pub size: u32,
    /// The program, and its arguments.
    pub program: Vec<String>,
    /// The ranks' `FOREGATHER_FABRIC`, if set.
    pub fabric: Option<String>,
    /// The hosts of the ranks, in this order; this host, if the list is empty.
    pub hosts: Vec<Host>,
    /// The command that starts a shell on another host, with the host's name after it.
    pub remote_shell: Vec<String>,
    /// Does each line of output begin with its rank?
    pub prefix: bool,
}

/// Starts the job and returns when all of it has ended: with 0, or with the exit code of the first rank that
/// failed (128 and its signal's number, if a signal ended it), or 130 if this program was asked to stop, or
/// 141 or 3 if the output of ranks cannot be written any more: its reader has gone, or its disk is full. Call
/// it on a thread that stays.
///
/// # Errors
/// If a rank cannot be started, or the plan is invalid.
pub fn run(plan: &Plan) -> Result<u8, Error> {
    let settings = Settings::from_env()?;
    let variables = Variables::new(plan)?;
    let (name, jobs) = variables.within();
    let guardian = Guardian::over(&format!("{name}={jobs}"))?;
    let outlets = Outlets::new()?;
    let ranks = (0..plan.size).map(|rank| Running::start(plan, rank, &variables)).collect::<Result<_, _>>()?;
    let notices = Notices::of(&variables.of(0));
    // Only rank 0 may answer at the job's port.
    drop(variables);
    let grace = settings.notice() + LAST_WORDS;
    let mut job = Job { ranks, ended: Vec::new(), outlets, notices, grace, stage: Stage::Running, code: 0 };
    job.see_through()?;
    drop(guardian);
    Ok(job.finish())
}

/// How far the job's end has come.
#[derive(Clone, Copy)]
enum Stage {
    Running,
    /// A rank failed; the others may still report.
    Failed(Nanos),
    /// The ranks were asked to end.
    Terminating(Nanos),
    /// The ranks were killed.
    Killed,
}

struct Job {
    ranks: Vec<Running>,
    /// Ranks that showed an end, in this order.
    ended: Vec<Rank>,
    outlets: Outlets,
    /// Tells ranks that wait for one that has ended.
    notices: Notices,
    grace: Nanos,
    stage: Stage,
    code: u8,
}

impl Job {
    fn see_through(&mut self) -> Result<(), Error> {
        while self.ranks.iter().any(|rank| !rank.over()) {
            self.wait();
            for rank in &mut self.ranks {
                rank.pump(&self.outlets);
                if rank.stopped() {
                    self.outlets.say(&format!("rank {} was stopped by a signal", rank.rank));
                }
            }
            self.note_ends();
            self.reap()?;
            self.advance();
        }
        Ok(())
    }

    /// The others need a moment to see what one rank's end means for them, so the first end is the one to
    /// blame.
    fn note_ends(&mut self) {
        for rank in self.ranks.iter().filter(|rank| rank.shows_an_end()) {
            if !self.ended.contains(&rank.rank) {
                self.ended.push(rank.rank);
            }
        }
    }

    /// Reaps all that have ended. Several may have by now, one because of another: an end by a signal comes
    /// before its consequences, and then the one that was seen first.
    fn reap(&mut self) -> Result<(), Error> {
        if !self.ranks.iter().any(Running::has_ended) {
            return Ok(());
        }
        // The rank that caused one of these ends is at least ending: others notice a moment before it can be
        // reaped.
        let until = clock::now() + ENDING;
        while self.ranks.iter().any(Running::is_ending) && clock::now() < until {
            self.note_ends();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut failed = Vec::new();
        for rank in &mut self.ranks {
            let Some(status) = rank.reap(&self.outlets)? else { continue };
            self.notices.ended(rank.rank, &told(status));
            failed.extend((!status.success()).then_some((rank.rank, status)));
        }
        failed.sort_by_key(|(rank, _)| self.ended.iter().position(|ended| ended == rank));
        let first = failed.iter().find(|(_, status)| status.signal().is_some()).or(failed.first());
        if let (Some((rank, status)), Stage::Running, 0) = (first, self.stage, self.code) {
            self.code = code_of(*status);
            self.outlets.say(&format!("rank {rank} {}", told(*status)));
        }
        Ok(())
    }

    /// Waits until a rank prints something or ends, or it is time to look.
    fn wait(&self) {
        let of_ranks = self.ranks.iter().flat_map(|rank| rank.watched(&self.outlets));
        let all = of_ranks.chain([self.outlets.out.roomy(), self.outlets.err.roomy()]);
        let mut watched: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let _ = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: SLICE.0 as _ }));
    }

    fn advance(&mut self) {
        let now = clock::now();
        let asked = interrupt::requested();
        match self.stage {
            Stage::Running | Stage::Failed(_) if asked || self.outlets.failed().is_some() => {
                self.code = if asked { INTERRUPTED } else { self.heard() };
                self.terminate(now);
            }
            Stage::Running if self.code != 0 => self.stage = Stage::Failed(now + self.grace),
            Stage::Failed(until) if now >= until => self.terminate(now),
            Stage::Terminating(until) if now >= until => {
                self.signal(Signal::KILL);
                self.stage = Stage::Killed;
            }
            _ => {}
        }
    }

    /// The job's code, unless its output cannot be written.
    fn heard(&self) -> u8 {
        let Some(errno) = self.outlets.failed().filter(|_| self.code == 0) else { return self.code };
        let error = std::io::Error::from_raw_os_error(errno);
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            // As if that signal had reached the ranks; a reader that has seen enough wants no message.
            return 128 + Signal::PIPE.as_raw() as u8;
        }
        self.outlets.say(&format!("what the ranks print cannot be written: {error}; make room, or send it elsewhere"));
        CANNOT
    }

    /// Writes the last of the output. Returns the job's code.
    fn finish(&self) -> u8 {
        match self.outlets.out.finish() {
            0 => {}
            lost => self.outlets.say(&format!("standard output is not read: its last {lost} bytes are lost")),
        }
        let code = self.heard();
        self.outlets.err.finish();
        code
    }

    fn terminate(&mut self, now: Nanos) {
        self.signal(Signal::TERM);
        // A stopped process gets the signal when it goes on.
        self.signal(Signal::CONT);
        self.stage = Stage::Terminating(now + TERMINATING);
    }

    fn signal(&self, signal: Signal) {
        self.ranks.iter().filter(|rank| !rank.over()).for_each(|rank| rank.signal(signal));
    }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    // A failure never looks like success.
    u8::try_from(code).ok().filter(|&code| code > 0).unwrap_or(u8::MAX)
}

fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => {
            let names = [
                (1, "HUP"),
                (2, "INT"),
                (4, "ILL"),
                (6, "ABRT"),
                (7, "BUS"),
                (8, "FPE"),
                (9, "KILL"),
                (11, "SEGV"),
                (13, "PIPE"),
                (15, "TERM"),
                (24, "XCPU"),
            ];
            let name =
                names.iter().find(|(number, _)| *number == signal).map_or(String::new(), |(_, name)| format!(" (SIG{name})"));
            format!("was killed by signal {signal}{name}")
        }
        _ => "ended in an unknown way".to_owned(),
    }
}

fn setting(what: &'static str, needs: &'static str) -> Error {
    Error::from(Cause::Setting { what, needs })
}

fn os(what: &'static str, error: &std::io::Error, remedy: &'static str) -> Error {
    Error::from(Cause::Os { what, errno: error.raw_os_error().unwrap_or(0), remedy })
}
