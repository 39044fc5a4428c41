//! The launcher itself: starts the ranks of a job, shows their output, and makes sure that all of them end.
//!
//! The first rank that ends badly ends the job. The others get a while to report what that means for them,
//! then SIGTERM, then SIGKILL. Each rank has a process group of its own, which ends with it. A [`Guardian`]
//! ends processes that have left their group, and all of the job if the launcher is killed or asked twice to
//! stop: nothing is left behind.
//!
//! - `rank`: one rank's process and output; `remote`: a rank on another host. `desk`: which process has
//!   a rank's place. `blame`: which rank failed first.
//! - `variables`, `hosts`: what each rank is told. `lines`, `outlet`: what ranks print.
mod blame;
mod desk;
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
use blame::{Blame, Culprit, RankEnd};
use desk::Desk;
use foregather_host::guardian::Guardian;
use foregather_host::job_signals::{JobSignals, stop_here};
use foregather_host::{child, clock, interrupt};
use foregather_machine::{Cause, Error, Nanos, Rank};
use outlet::Outlets;
use rank::Running;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use variables::Variables;

/// The longest time between two looks.
const SLICE: Nanos = Nanos::from_ms(50);
/// Between SIGINT and SIGTERM after Ctrl-C, and between SIGTERM and SIGKILL.
const TERMINATING: Nanos = Nanos::from_ms(1_000);
/// Beyond the time in which ranks learn of a loss: for their messages about it.
const LAST_WORDS: Nanos = Nanos::from_ms(1_000);
/// How long the launcher waits, at the job's end, for a tracer to reap a rank whose status is unknown.
const UNREAPED: Nanos = Nanos::from_ms(30_000);
/// The status of the command where this machine cannot do its part, as on a full disk.
const CANNOT: u8 = 3;

/// The job to start.
#[derive(Clone, Debug, Default)]
pub struct SpawnPlan {
    /// The number of ranks.
    pub size: u32,
    /// The program, and its arguments.
    pub program: Vec<OsString>,
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
/// failed (128 and its signal's number, if a signal ended it; 255 if that cannot be known), or 130 if
/// this program was asked to stop (129 and 131 by SIGHUP and SIGQUIT), or 141 or 3 if the output of ranks
/// cannot be written any more: its reader has gone, or its disk is full. Call it on a thread that stays. From
/// then on this process catches the signals of [`JobSignals`] and may open as many files as it may at most.
///
/// # Errors
/// If a rank cannot be started, or the plan is invalid.
pub fn run(plan: &SpawnPlan) -> Result<u8, Error> {
    let settings = Settings::from_env()?;
    let (variables, root) = Variables::new(plan)?;
    let (name, jobs) = variables.within();
    let guardian = Guardian::over(&format!("{name}={jobs}"))?;
    let signals = JobSignals::catch()?;
    child::raise_descriptor_limit();
    let outlets = Outlets::new()?;
    let desk = Desk::new(plan.size, variables.key(), root)?;
    let ranks = (0..plan.size).map(|rank| Running::start(plan, rank, &variables, desk.name())).collect::<Result<_, _>>()?;
    let notices = Notices::of(&variables.of(0));
    let grace = settings.notice() + LAST_WORDS;
    let mut job = Job {
        ranks,
        blame: Blame::default(),
        outlets,
        notices,
        desk,
        signals,
        grace,
        stage: Stage::Running,
        code: 0,
        culprit: None,
        asked_to_end: None,
        unknown_since: None,
        dumping: Vec::new(),
    };
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
    /// The ranks were interrupted, as by Ctrl-C.
    Interrupted(Nanos),
    /// The ranks were asked to end.
    Terminating(Nanos),
    /// The ranks were killed.
    Killed,
}

struct Job {
    ranks: Vec<Running>,
    blame: Blame,
    outlets: Outlets,
    /// Tells ranks that wait for one that has ended.
    notices: Notices,
    desk: Desk,
    signals: JobSignals,
    grace: Nanos,
    stage: Stage,
    code: u8,
    /// The rank that failed first, once it is known.
    culprit: Option<(Rank, RankEnd)>,
    /// The signal by which this process was asked to end the job.
    asked_to_end: Option<Signal>,
    /// Since when only ranks are left whose tracer has to reap them.
    unknown_since: Option<Nanos>,
    /// Ranks whose core dump was reported.
    dumping: Vec<Rank>,
}

impl Job {
    fn see_through(&mut self) -> Result<(), Error> {
        while self.ranks.iter().any(|rank| !rank.over()) && !self.gives_up() {
            self.wait();
            for rank in &mut self.ranks {
                rank.pump(&self.outlets);
                if rank.stopped() {
                    self.outlets.say(&format!("rank {} was stopped by a signal", rank.rank));
                }
            }
            self.note_ends();
            self.reap()?;
            self.find_culprit();
            self.heed_signals();
            self.advance();
        }
        Ok(())
    }

    /// Takes down the order in which ranks failed. A rank reports its failure before any other can learn of
    /// it, so the reports come first.
    fn note_ends(&mut self) {
        let ranks = &self.ranks;
        let rank_of = |group: u32| ranks.iter().find(|rank| !rank.over() && rank.process() == group).map(|rank| rank.rank);
        for report in self.desk.serve(rank_of) {
            self.blame.reports(report.rank, report.distance);
        }
        for rank in self.ranks.iter().filter(|rank| rank.shows_an_end()) {
            self.blame.shows_an_end(rank.rank);
        }
    }

    /// Reaps all that have ended.
    fn reap(&mut self) -> Result<(), Error> {
        for rank in &mut self.ranks {
            let Some(end) = rank.reap(&self.outlets)? else { continue };
            self.notices.ended(rank.rank, &told(end));
            self.desk.ended(rank.rank);
            self.blame.ends(rank.rank, end);
            if end == RankEnd::Unknown {
                let (number, process) = (rank.rank, rank.process());
                let holder =
                    rank.tracer().map_or("another process".to_owned(), |tracer| format!("its tracer, process {tracer},"));
                self.outlets.say(&format!("rank {number} (process {process}) has ended, and {holder} holds its exit status"));
            }
        }
        Ok(())
    }

    /// Names the rank that failed first, once, and takes its code.
    fn find_culprit(&mut self) {
        if self.blame.first_of_ended().is_some() {
            self.foresee_ends();
        }
        for rank in self.ranks.iter().filter(|rank| rank.is_dumping_core()) {
            if !self.dumping.contains(&rank.rank) {
                self.dumping.push(rank.rank);
                self.outlets.say(&format!("rank {} has crashed, and the system is writing its core dump", rank.rank));
            }
        }
        match self.culprit {
            Some((rank, RankEnd::Unknown)) => match self.blame.end_of(rank) {
                None | Some(RankEnd::Unknown) => {}
                Some(end) => self.name(rank, end),
            },
            None if matches!(self.stage, Stage::Running | Stage::Failed(_)) => match self.blame.culprit(self.may_change()) {
                Culprit::Nobody => {}
                Culprit::Pending => self.fails(),
                Culprit::Found(rank, end) => {
                    self.name(rank, end);
                    self.fails();
                }
            },
            _ => {}
        }
    }

    /// Takes down ends that are certain. A lost rank may be slower to end than those that know of it: its
    /// slowest thread counts, and one of the idle class hardly runs on a busy machine.
    fn foresee_ends(&mut self) {
        for rank in &self.ranks {
            if self.blame.end_of(rank.rank).is_none()
                && let Some(end) = rank.coming_end()
            {
                self.blame.ends(rank.rank, end);
            }
        }
    }

    fn name(&mut self, rank: Rank, end: RankEnd) {
        self.culprit = Some((rank, end));
        self.code = end.code();
        if end != RankEnd::Unknown {
            self.outlets.say(&format!("rank {rank} {}", told(end)));
        }
    }

    /// Whether a crashed rank has not ended, since its core is dumped.
    fn is_dumping(&self) -> bool {
        self.ranks.iter().any(|rank| self.dumping.contains(&rank.rank) && !rank.over())
    }

    /// Whether a rank is about to end: others notice a moment before it can be reaped, and it may be the
    /// cause of their ends.
    fn may_change(&self) -> bool {
        self.is_dumping() || self.ranks.iter().any(Running::is_ending)
    }

    fn fails(&mut self) {
        if matches!(self.stage, Stage::Running) {
            self.stage = Stage::Failed(clock::now() + self.grace);
        }
    }

    /// Waits until a rank prints something or ends, or it is time to look.
    fn wait(&self) {
        let of_ranks = self.ranks.iter().flat_map(|rank| rank.watched(&self.outlets));
        let all = of_ranks.chain([self.outlets.out.roomy(), self.outlets.err.roomy()]).chain(self.desk.watched());
        let mut watched: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let _ = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: SLICE.0 as _ }));
    }

    /// Passes on, or acts on, the signals that this process has got.
    fn heed_signals(&mut self) {
        let mut came: Vec<_> = self.signals.take().collect();
        if interrupt::requested() && self.asked_to_end.is_none() {
            came.push(Signal::INT);
        }
        for signal in came {
            match signal {
                Signal::USR1 | Signal::USR2 | Signal::CONT => self.signal(signal),
                Signal::TSTP => {
                    self.signal(Signal::STOP);
                    stop_here();
                    self.signal(Signal::CONT);
                }
                // Each further one is a repetition: a terminal that goes away sends several.
                _ => self.asked_to_end = self.asked_to_end.or(Some(signal)),
            }
        }
    }

    fn advance(&mut self) {
        let now = clock::now();
        match self.stage {
            Stage::Running | Stage::Failed(_) if self.asked_to_end.is_some() => {
                let signal = self.asked_to_end.unwrap_or(Signal::TERM);
                // As all verbs of the command end when they are asked to.
                let of = if signal == Signal::TERM { Signal::INT } else { signal };
                self.code = 128 + of.as_raw() as u8;
                if signal == Signal::INT {
                    // A program that handles Ctrl-C ends as it does without a launcher.
                    self.signal(Signal::INT);
                    self.signal(Signal::CONT);
                    self.stage = Stage::Interrupted(now + TERMINATING);
                } else {
                    self.terminate(now);
                }
            }
            Stage::Running | Stage::Failed(_) if self.outlets.failed().is_some() => {
                self.code = self.heard();
                self.terminate(now);
            }
            // A signal would end the dump.
            Stage::Failed(until) if now >= until && !self.is_dumping() => self.terminate(now),
            Stage::Interrupted(until) if now >= until => self.terminate(now),
            Stage::Terminating(until) if now >= until => {
                self.signal(Signal::KILL);
                self.stage = Stage::Killed;
            }
            _ => {}
        }
    }

    /// Whether only ranks are left that have ended and that their tracers do not reap.
    fn gives_up(&mut self) -> bool {
        if self.ranks.iter().any(|rank| !rank.over() && !rank.is_unknown()) {
            return false;
        }
        let since = *self.unknown_since.get_or_insert_with(clock::now);
        self.asked_to_end.is_some() || clock::now() >= since + UNREAPED
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
        // From here on ranks end because they are asked to.
        if let (0, None, Some((rank, end))) = (self.code, self.culprit, self.blame.first_of_ended()) {
            self.name(rank, end);
        }
        self.signal(Signal::TERM);
        // A stopped process gets the signal when it goes on.
        self.signal(Signal::CONT);
        self.stage = Stage::Terminating(now + TERMINATING);
    }

    fn signal(&mut self, signal: Signal) {
        self.ranks.iter_mut().filter(|rank| !rank.over()).for_each(|rank| rank.signal(signal));
    }
}

fn told(end: RankEnd) -> String {
    let RankEnd::Status(status) = end else { return "ended in an unknown way".to_owned() };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => {
            let names = [
                (1, "HUP"),
                (2, "INT"),
                (3, "QUIT"),
                (4, "ILL"),
                (6, "ABRT"),
                (7, "BUS"),
                (8, "FPE"),
                (9, "KILL"),
                (10, "USR1"),
                (11, "SEGV"),
                (12, "USR2"),
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
