//! The launcher itself: starts the ranks of a job, shows what they print, and sees to it that all of them end.
//!
//! The first rank that ends badly ends the job. The others get a while to say what that means for them, then SIGTERM, then SIGKILL.
//! Each rank has a process group of its own, which ends with it. What has left its group, and all of it if the launcher is killed or asked
//! twice to stop, ends by a [`Guardian`]: nothing is left behind.
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

/// How long nothing is looked at.
const SLICE: Nanos = Nanos::from_ms(50);
/// How long the system may take to end a process that holds much memory, before that is no longer looked into.
const ENDING: Nanos = Nanos::from_ms(500);
/// Between asking a rank to end and making it.
const TERMINATING: Nanos = Nanos::from_ms(1_000);
/// Beyond the time in which ranks learn of a loss: for what they have to say about it.
const LAST_WORDS: Nanos = Nanos::from_ms(1_000);
/// What a shell shows for a program ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// What the command ends with where this machine cannot do what it should, as on a full disk.
const CANNOT: u8 = 3;

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// How many ranks.
    pub size: u32,
    /// The program, and its arguments.
    pub program: Vec<String>,
    /// What `FOREGATHER_FABRIC` says to the ranks, if anything.
    pub fabric: Option<String>,
    /// Where the ranks go, in this order; here, if there are none.
    pub hosts: Vec<Host>,
    /// The command that starts a shell elsewhere, with the host's name after it.
    pub remote_shell: Vec<String>,
    /// Is each line of output to say whose it is?
    pub prefix: bool,
}

/// Starts the job and returns when all of it has ended: with 0, or with what the first rank that failed ended with (128 and its
/// signal's number, if a signal ended it), or 130 if this program was asked to stop, or 141 or 3 if what ranks print cannot be written any
/// more: its reader has gone, or its disk is full. To be called on a thread that stays.
///
/// # Errors
/// If a rank cannot be started, or the plan makes no sense.
pub fn run(plan: &Plan) -> Result<u8, Error> {
    let settings = Settings::from_env()?;
    let variables = Variables::new(plan)?;
    let (name, jobs) = variables.within();
    let guardian = Guardian::over(&format!("{name}={jobs}"))?;
    let outlets = Outlets::new()?;
    let ranks = (0..plan.size).map(|rank| Running::start(plan, rank, &variables)).collect::<Result<_, _>>()?;
    let notices = Notices::of(&variables.of(0));
    // Rank 0 alone may answer at the job's port.
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
    /// Somebody failed; the others may still say something.
    Failed(Nanos),
    /// They were asked to end.
    Terminating(Nanos),
    /// They were killed.
    Killed,
}

struct Job {
    ranks: Vec<Running>,
    /// Those that showed an end, in this order.
    ended: Vec<Rank>,
    outlets: Outlets,
    /// For those who wait for a rank that has ended.
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

    /// What one rank's end means for the others takes them a moment to see, so the first is the one to blame.
    fn note_ends(&mut self) {
        for rank in self.ranks.iter().filter(|rank| rank.shows_an_end()) {
            if !self.ended.contains(&rank.rank) {
                self.ended.push(rank.rank);
            }
        }
    }

    /// All that have ended. Several may have by now, one because of the other: a signal comes before what others made of it, and then the
    /// one that was seen first.
    fn reap(&mut self) -> Result<(), Error> {
        if !self.ranks.iter().any(Running::has_ended) {
            return Ok(());
        }
        // Whoever made one of these end is ending at least: others hear of that a moment before it can be reaped.
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

    /// Until somebody prints something, or ends, or it is time to look.
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

    /// The job's code, with a look at whether its output can be written.
    fn heard(&self) -> u8 {
        let Some(errno) = self.outlets.failed().filter(|_| self.code == 0) else { return self.code };
        let error = std::io::Error::from_raw_os_error(errno);
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            // As if the signal for that had reached the ranks; a reader that has seen enough wants no words.
            return 128 + Signal::PIPE.as_raw() as u8;
        }
        self.outlets.say(&format!("what the ranks print cannot be written: {error}; make room, or send it elsewhere"));
        CANNOT
    }

    /// Sees the last of the output through. The job's code.
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
        // A stopped process hears of it when it goes on.
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
