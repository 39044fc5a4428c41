//! The launcher: starts the ranks of a job, prints their output, and makes sure that all of them exit.
//!
//! The first rank that fails ends the job. The other ranks get some time to report their own errors, then
//! SIGTERM, then SIGKILL. Each rank has a process group of its own, which is killed when the rank exits. A
//! [`Guardian`] kills processes that have left their group, and the whole job if the launcher is killed or
//! asked to stop twice, so that nothing is left running.
//!
//! - `rank`: one rank's process and output; `remote`: a rank on another host. `desk`: which process has a
//!   rank's place. `blame`: which rank failed first.
//! - `variables`, `hosts`: each rank's environment and host. `lines`, `outlet`: the output of ranks.
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
use rank::RankProcess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use variables::Variables;

/// The maximum time between two checks.
const SLICE: Nanos = Nanos::from_ms(50);
/// The time between SIGINT and SIGTERM after Ctrl-C, and between SIGTERM and SIGKILL.
const TERMINATING: Nanos = Nanos::from_ms(1_000);
/// Extra time for ranks to print their messages, after they have learned of a loss.
const LAST_WORDS: Nanos = Nanos::from_ms(1_000);
/// How long the launcher waits, at the job's end, for a tracer to reap a rank whose status is unknown.
const UNREAPED: Nanos = Nanos::from_ms(30_000);
/// The exit code of the command if the machine cannot do what was asked, for example because the disk is
/// full.
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
    /// The hosts of the ranks, in this order. If the list is empty, all ranks run on this host.
    pub hosts: Vec<Host>,
    /// The command that starts a shell on another host, with the host's name after it.
    pub remote_shell: Vec<String>,
    /// Whether each line of output is prefixed with its rank.
    pub prefix: bool,
    /// The absolute path of the trace that the ranks record, if they do ([`JobTrace`](crate::JobTrace)).
    pub record: Option<PathBuf>,
}

/// Starts the job and returns its exit code when all of it has exited:
///
/// - 0 if all ranks succeeded;
/// - the exit code of the first rank that failed: 128 plus the signal's number if a signal killed it, or 255
///   if that cannot be known;
/// - 130 if this program was asked to stop (129 after SIGHUP, 131 after SIGQUIT);
/// - 141 or 3 if the output of ranks can no longer be written, because its reader has gone or its disk is
///   full.
///
/// Call it on a thread that lives until the process exits. From then on, this process handles the signals of
/// [`JobSignals`], and may open as many files as its hard limit allows.
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
    let ranks = (0..plan.size).map(|rank| RankProcess::start(plan, rank, &variables, desk.name())).collect::<Result<_, _>>()?;
    let notices = Notices::of(&variables.of(0));
    let grace = settings.notice() + LAST_WORDS;
    let mut job = LaunchedJob {
        ranks,
        blame: Blame::default(),
        outlets,
        notices,
        desk,
        signals,
        grace,
        stage: JobStage::Running,
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

/// The stage of the job's shutdown.
#[derive(Clone, Copy)]
enum JobStage {
    Running,
    /// A rank failed; the others may still report.
    Failed(Nanos),
    /// The ranks were interrupted, as by Ctrl-C.
    Interrupted(Nanos),
    /// The ranks were sent SIGTERM.
    Terminating(Nanos),
    /// The ranks were killed.
    Killed,
}

struct LaunchedJob {
    ranks: Vec<RankProcess>,
    blame: Blame,
    outlets: Outlets,
    /// Informs ranks that wait for a rank that has exited.
    notices: Notices,
    desk: Desk,
    signals: JobSignals,
    grace: Nanos,
    stage: JobStage,
    code: u8,
    /// The rank that failed first, once it is known.
    culprit: Option<(Rank, RankEnd)>,
    /// The signal that asked this process to end the job.
    asked_to_end: Option<Signal>,
    /// The time since which all remaining ranks have exited and wait for their tracers to reap them.
    unknown_since: Option<Nanos>,
    /// Ranks whose core dump was reported.
    dumping: Vec<Rank>,
}

impl LaunchedJob {
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

    /// Records the order in which ranks failed. A rank reports its failure before any other can learn of it,
    /// so the reports come first.
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

    /// Reaps all ranks that have exited.
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

    /// Names the rank that failed first, once, and adopts its exit code.
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
            None if matches!(self.stage, JobStage::Running | JobStage::Failed(_)) => {
                match self.blame.culprit(self.may_change()) {
                    Culprit::Nobody => {}
                    Culprit::Pending => self.fails(),
                    Culprit::Found(rank, end) => {
                        self.name(rank, end);
                        self.fails();
                    }
                }
            }
            _ => {}
        }
    }

    /// Records exits that are certain before they can be reaped. A lost rank may exit later than the ranks
    /// that know of it, because a process exits with its slowest thread, and an idle-class thread hardly runs
    /// on a busy machine.
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

    /// Returns whether a crashed rank has not exited because its core dump is being written.
    fn is_dumping(&self) -> bool {
        self.ranks.iter().any(|rank| self.dumping.contains(&rank.rank) && !rank.over())
    }

    /// Returns whether a rank is about to exit: others notice this a moment before it can be reaped, and it
    /// may be the cause of their exits.
    fn may_change(&self) -> bool {
        self.is_dumping() || self.ranks.iter().any(RankProcess::is_ending)
    }

    fn fails(&mut self) {
        if matches!(self.stage, JobStage::Running) {
            self.stage = JobStage::Failed(clock::now() + self.grace);
        }
    }

    /// Waits until a rank prints something or exits, or until the next check is due.
    fn wait(&self) {
        let of_ranks = self.ranks.iter().flat_map(|rank| rank.watched(&self.outlets));
        let all = of_ranks.chain([self.outlets.out.roomy(), self.outlets.err.roomy()]).chain(self.desk.watched());
        let mut watched: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let _ = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: SLICE.0 as _ }));
    }

    /// Handles or forwards the signals that this process has received.
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
                // Further ones are repeats: a terminal that closes sends several.
                _ => self.asked_to_end = self.asked_to_end.or(Some(signal)),
            }
        }
    }

    fn advance(&mut self) {
        let now = clock::now();
        match self.stage {
            JobStage::Running | JobStage::Failed(_) if self.asked_to_end.is_some() => {
                let signal = self.asked_to_end.unwrap_or(Signal::TERM);
                // As all subcommands do when they are asked to stop.
                let of = if signal == Signal::TERM { Signal::INT } else { signal };
                self.code = 128 + of.as_raw() as u8;
                if signal == Signal::INT {
                    // A program that handles Ctrl-C exits as it does without a launcher.
                    self.signal(Signal::INT);
                    self.signal(Signal::CONT);
                    self.stage = JobStage::Interrupted(now + TERMINATING);
                } else {
                    self.terminate(now);
                }
            }
            JobStage::Running | JobStage::Failed(_) if self.outlets.failed().is_some() => {
                self.code = self.heard();
                self.terminate(now);
            }
            // A signal would cut the dump short.
            JobStage::Failed(until) if now >= until && !self.is_dumping() => self.terminate(now),
            JobStage::Interrupted(until) if now >= until => self.terminate(now),
            JobStage::Terminating(until) if now >= until => {
                self.signal(Signal::KILL);
                self.stage = JobStage::Killed;
            }
            _ => {}
        }
    }

    /// Returns whether all remaining ranks have exited and their tracers do not reap them.
    fn gives_up(&mut self) -> bool {
        if self.ranks.iter().any(|rank| !rank.over() && !rank.is_unknown()) {
            return false;
        }
        let since = *self.unknown_since.get_or_insert_with(clock::now);
        self.asked_to_end.is_some() || clock::now() >= since + UNREAPED
    }

    /// Returns the job's exit code, unless its output cannot be written.
    fn heard(&self) -> u8 {
        let Some(errno) = self.outlets.failed().filter(|_| self.code == 0) else { return self.code };
        let error = std::io::Error::from_raw_os_error(errno);
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            // As if the ranks had received SIGPIPE; a reader that has seen enough expects no message.
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
        // From here on, ranks exit because they are asked to.
        if let (0, None, Some((rank, end))) = (self.code, self.culprit, self.blame.first_of_ended()) {
            self.name(rank, end);
        }
        self.signal(Signal::TERM);
        // A stopped process handles the signal when it is continued.
        self.signal(Signal::CONT);
        self.stage = JobStage::Terminating(now + TERMINATING);
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
