//! One rank of a job that this process started: its process and its output.
use super::blame::RankEnd;
use super::lines::Lines;
use super::outlet::{Outlet, Outlets};
use super::remote;
use super::variables::Variables;
use super::{SpawnPlan, os, setting};
use crate::own;
use foregather_host::child::Child;
use foregather_host::run_state;
use foregather_machine::{Error, Nanos, Rank};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Write, stdin};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};

pub(super) struct RankProcess {
    pub(super) rank: Rank,
    child: Child,
    /// Its standard output, and where that goes.
    out: Option<Pipe>,
    err: Option<Pipe>,
    /// Whether its output goes through these pipes.
    piped: bool,
    /// Open as long as a rank on another host should live.
    lifeline: Option<ChildStdin>,
    over: bool,
    /// Whether it is known to have exited but could not be reaped.
    shows_unreaped: bool,
    /// Whether its exit was reported as [`RankEnd::Unknown`].
    is_unknown: bool,
}

struct Pipe {
    from: File,
    lines: Lines,
}

impl RankProcess {
    pub(super) fn start(plan: &SpawnPlan, rank: Rank, variables: &Variables, desk: &str) -> Result<Self, Error> {
        let host = variables.host(rank).filter(|host| !host.is_here());
        let mut command = match host {
            None => {
                let mut command = Command::new(&plan.program[0]);
                command.args(&plan.program[1..]).envs(variables.of(rank)).env(own::DESK, desk);
                // A terminal has one reader, which must be in its foreground group.
                command.stdin(if rank == 0 && !stdin().is_terminal() { Stdio::inherit() } else { Stdio::null() });
                command
            }
            Some(host) => {
                let (program, args) =
                    plan.remote_shell.split_first().ok_or_else(|| setting("the remote shell", "a command, such as ssh"))?;
                let mut command = Command::new(program);
                command.args(args).arg(&host.name).arg("sh").stdin(Stdio::piped());
                command
            }
        };
        if plan.prefix {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let (within, jobs) = variables.within();
        command.env(within, jobs).process_group(0);
        let mut child = Child::spawn(command, &[])?;
        let lifeline = child.streams().stdin.take();
        let mut running = Self {
            rank,
            out: None,
            err: None,
            piped: plan.prefix,
            child,
            lifeline,
            over: false,
            shows_unreaped: false,
            is_unknown: false,
        };
        if let Some(lifeline) = &mut running.lifeline {
            // This variable identifies its children there, and distinguishes them from those of another rank.
            let mut told = variables.of(rank);
            told.push((within.to_owned(), format!("{jobs}{rank}/")));
            let script = remote::script(&told, &plan.program)?;
            // A shell that does not read has exited, and will have printed why.
            let _ = lifeline.write_all(&script);
        }
        let streams = running.child.streams();
        let (out, err) = (streams.stdout.take().map(OwnedFd::from), streams.stderr.take().map(OwnedFd::from));
        running.out = out.map(|fd| Pipe::new(fd, rank)).transpose()?;
        running.err = err.map(|fd| Pipe::new(fd, rank)).transpose()?;
        Ok(running)
    }

    pub(super) fn over(&self) -> bool {
        self.over
    }

    /// Returns the descriptors to wait for: pipes that may be readable, and the process's exit.
    pub(super) fn watched(&self, outlets: &Outlets) -> impl Iterator<Item = BorrowedFd<'_>> {
        let pipes = [(&self.out, &outlets.out), (&self.err, &outlets.err)];
        let open = pipes.map(|(pipe, to)| pipe.as_ref().filter(|_| to.has_room()).map(|pipe| pipe.from.as_fd()));
        // The pidfd of a process that only its tracer can reap is always readable.
        open.into_iter().flatten().chain((!self.over && !self.shows_unreaped).then(|| self.child.pidfd()))
    }

    /// Forwards its output, as far as there is room.
    pub(super) fn pump(&mut self, outlets: &Outlets) {
        for (pipe, to) in [(&mut self.out, &outlets.out), (&mut self.err, &outlets.err)] {
            if to.has_room() {
                pump(pipe, to);
            }
        }
    }

    /// Returns whether it has exited with an unknown status.
    pub(super) fn is_unknown(&self) -> bool {
        self.is_unknown && !self.over
    }

    /// Returns its PID, which is also the ID of its process group.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether its process has exited and has not been reaped.
    fn has_ended(&self) -> bool {
        !self.over && !self.child.alive()
    }

    /// Returns whether it has exited, or closed both output streams: an exiting process closes these before
    /// the connections by which others notice.
    pub(super) fn shows_an_end(&self) -> bool {
        self.piped && self.out.is_none() && self.err.is_none() || self.over || self.has_ended()
    }

    /// Returns whether it is exiting, or has exited and its status is not known yet. Checked in this order,
    /// because it may exit between the two checks.
    pub(super) fn is_ending(&self) -> bool {
        !self.over && !self.is_unknown && (run_state::is_ending(self.child.id()) || !self.child.alive())
    }

    /// Returns how it will have exited, if that is certain although it cannot be reaped yet.
    pub(super) fn coming_end(&self) -> Option<RankEnd> {
        let status = (!self.over && !self.is_unknown).then(|| run_state::coming_status(self.child.id()));
        status.flatten().map(RankEnd::Status)
    }

    /// Returns whether it has crashed and its core dump is being written.
    pub(super) fn is_dumping_core(&self) -> bool {
        !self.over && self.child.alive() && run_state::is_dumping_core(self.child.id())
    }

    /// Returns the process that traces it, which has to reap it.
    pub(super) fn tracer(&self) -> Option<u32> {
        run_state::tracer(self.child.id())
    }

    /// Returns how it exited, if that is new. An exit that shows for a while without a status is unknown at
    /// first, and known when it has been reaped.
    pub(super) fn reap(&mut self, outlets: &Outlets) -> Result<Option<RankEnd>, Error> {
        if !self.has_ended() {
            return Ok(None);
        }
        // Until it is reaped, no other process can get its PID. All processes that it started are killed with
        // it.
        self.signal(Signal::KILL);
        let end = match self.child.wait_until(Nanos::ZERO)? {
            Some(status) => {
                self.over = true;
                RankEnd::Status(status)
            }
            None => {
                self.shows_unreaped = true;
                if self.is_unknown || !self.child.is_held() {
                    return Ok(None);
                }
                self.is_unknown = true;
                RankEnd::Unknown
            }
        };
        self.lifeline = None;
        // Its pipes hold no more than their capacity, and there is always room for that.
        for (mut pipe, to) in [(self.out.take(), &outlets.out), (self.err.take(), &outlets.err)] {
            pump(&mut pipe, to);
            if let Some(pipe) = pipe {
                pipe.end(to);
            }
        }
        Ok(Some(end))
    }

    /// Returns whether it was stopped since the last check.
    pub(super) fn stopped(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        !self.over && matches!(waitid(WaitId::PidFd(self.child.pidfd()), options), Ok(Some(status)) if status.stopped())
    }

    /// Signals the process and all processes that it has started. On another host, the signal goes to the
    /// rank's process; SIGTERM and SIGKILL go to the remote shell on this host, whose exit ends the rank.
    pub(super) fn signal(&mut self, signal: Signal) {
        let name = match signal {
            Signal::INT => "INT",
            Signal::USR1 => "USR1",
            Signal::USR2 => "USR2",
            Signal::STOP => "STOP",
            Signal::CONT => "CONT",
            _ => "",
        };
        if let Some(lifeline) = self.lifeline.as_mut().filter(|_| !name.is_empty()) {
            // A shell that does not read has exited.
            let _ = lifeline.write_all(format!("{name}\n").as_bytes());
            return;
        }
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for RankProcess {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

impl Pipe {
    fn new(fd: OwnedFd, rank: Rank) -> Result<Self, Error> {
        fcntl_setfl(&fd, OFlags::NONBLOCK).map_err(|errno| os("listening to a rank", &errno.into(), ""))?;
        Ok(Self { from: File::from(fd), lines: Lines::of(rank) })
    }

    fn end(mut self, to: &Outlet) {
        let mut lines = Vec::new();
        self.lines.end(&mut lines);
        to.push(&lines);
    }
}

/// Copies bounded portions, so that a rank that prints without end does not block the others.
fn pump(pipe: &mut Option<Pipe>, to: &Outlet) {
    let Some(open) = pipe else { return };
    let (mut piece, mut lines, mut ended) = ([0; 16 << 10], Vec::new(), false);
    for _ in 0..16 {
        match open.from.read(&mut piece) {
            Ok(bytes @ 1..) => open.lines.feed(&piece[..bytes], &mut lines),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Ok(0) | Err(_) => {
                ended = true;
                break;
            }
        }
    }
    to.push(&lines);
    if let Some(pipe) = pipe.take_if(|_| ended) {
        pipe.end(to);
    }
}
