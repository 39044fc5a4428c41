//! Processes that never outlive this one: they are killed when their handle is dropped, when a wait for them
//! takes too long, and by the kernel when this process dies in whatever way.
use crate::{clock, interrupt, run_state};
use foregather_machine::{Cause, Error, Nanos};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, getrlimit, kill_process_group, parent_process_death_signal,
    pidfd_open, set_parent_process_death_signal, setrlimit,
};
use std::env;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, ExitStatus, Output};
use std::sync::OnceLock;

/// How long a wait goes without looking for a request to stop.
const SLICE: Nanos = Nanos::from_ms(50);
/// How long the end of a process may show before it counts as held by a tracer.
const HELD: Nanos = Nanos::from_ms(100);
/// How long a killed process may take to vanish: only one stuck in a driver takes longer than milliseconds.
const DYING: Nanos = Nanos::from_ms(2_000);
/// The most that one look at a pipe takes out of it, and all looks together.
const GULP: usize = 1 << 20;
const MOST_OUTPUT: usize = 64 << 20;

/// The limit of open files before [`raise_descriptor_limit`].
static OWN_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process open as many files as it may at most. Children that are started afterwards have the
/// limit that it had before.
pub fn raise_descriptor_limit() {
    let before = *OWN_LIMIT.get_or_init(|| getrlimit(Resource::Nofile));
    // A refusal leaves the limit as it is, and a lack of descriptors is reported where it occurs.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
}

/// A running child process. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Child {
    process: process::Child,
    pidfd: OwnedFd,
    /// Its name in messages.
    name: String,
    /// Whether it leads a process group, which is killed with it.
    leads: bool,
    /// Since when its end shows and cannot be reaped, because a tracer holds it.
    held_since: Option<Nanos>,
}

impl Child {
    /// Starts `command`, with its arguments, environment and pipes. The descriptors `keep` stay open in the
    /// child, under the same numbers; in this process they keep their close-on-exec flag.
    ///
    /// The kernel kills the child when the *thread* that called this ends: call it on a thread that lives
    /// long enough.
    ///
    /// # Errors
    /// If the program cannot be started, or the kernel is older than Linux 5.3.
    pub fn spawn(mut command: Command, keep: &[BorrowedFd<'_>]) -> Result<Self, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let keep: Vec<RawFd> = keep.iter().map(AsRawFd::as_raw_fd).collect();
        let parent = getpid();
        let limit = OWN_LIMIT.get().copied();
        // SAFETY: between fork and exec the closure makes system calls only, which are async-signal-safe; it
        // neither allocates nor locks.
        unsafe { command.pre_exec(move || prepare(parent, &keep, limit)) };
        let mut process = command.spawn().map_err(|error| not_started(&name, &error))?;
        match pidfd_open(pid_of(&process), PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { process, pidfd, name, leads: false, held_since: None }),
            Err(errno) => {
                // A killed process that is not yet reaped ends soon. If it were not ours, neither call would
                // have an effect.
                let _ = process.kill().and_then(|()| process.wait());
                let remedy = "use Linux 5.3 or newer and allow pidfd_open in the container's seccomp filter";
                Err(Error::from(Cause::Os { what: "opening a process descriptor", errno: errno.raw_os_error(), remedy }))
            }
        }
    }

    /// [`Child::spawn`] as the first of a group of processes: if it is killed, so are those that it has
    /// started. The terminal's signals do not reach it.
    ///
    /// # Errors
    /// As [`Child::spawn`].
    pub fn spawn_group(mut command: Command) -> Result<Self, Error> {
        command.process_group(0);
        let mut child = Self::spawn(command, &[])?;
        child.leads = true;
        Ok(child)
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its process descriptor: readable once it has ended.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Its standard streams, as far as the command piped them and no call has taken them.
    pub fn streams(&mut self) -> Streams<'_> {
        Streams { stdin: &mut self.process.stdin, stdout: &mut self.process.stdout, stderr: &mut self.process.stderr }
    }

    /// Returns whether it is still running. If the system does not say, the result is true, because a caller
    /// may kill a process that it believes dead.
    pub fn alive(&self) -> bool {
        !matches!(wait_for(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Nanos::ZERO), Ok(1..))
    }

    /// Waits for its end until `deadline` on this process's [`clock`]. `None` if it was still running then,
    /// or this program was asked to stop ([`interrupt`]).
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait_until(&mut self, deadline: Nanos) -> Result<Option<ExitStatus>, Error> {
        loop {
            let (status, now) = (self.reap()?, clock::now());
            if status.is_some() || now >= deadline || interrupt::requested() {
                return Ok(status);
            }
            self.sleep(&[], SLICE.min(deadline - now))?;
        }
    }

    /// Returns whether it ended some time ago and only its tracer, a debugger or profiler, can reap it, and
    /// the system does not show its status either.
    pub fn is_held(&self) -> bool {
        self.held_since.is_some_and(|since| clock::now() >= since + HELD)
    }

    /// Sleeps until it ends or one of these pipes can be read. The descriptor of a process that a tracer
    /// holds stays readable, so it is left out, and looks at that child are `timeout` apart.
    fn sleep(&self, pipes: &[&Stream], timeout: Nanos) -> Result<(), Error> {
        let own = self.held_since.is_none().then(|| PollFd::new(&self.pidfd, PollFlags::IN));
        let mut watched: Vec<_> = own.into_iter().collect();
        watched.extend(pipes.iter().filter_map(|stream| stream.pipe.as_ref()).map(readable));
        wait_for(&mut watched, timeout).map(drop)
    }

    /// Reads its output from its pipes until it ends. The output that its own children write after its end is
    /// not awaited.
    ///
    /// # Errors
    /// If it takes longer than `timeout`, writes more than 64 MiB, or this program is asked to stop. It is
    /// then killed, and the error says so and quotes its last line.
    pub fn output_within(mut self, timeout: Nanos) -> Result<Output, Error> {
        let deadline = clock::now() + timeout;
        let mut stdout = Stream::new(self.process.stdout.take().map(OwnedFd::from))?;
        let mut stderr = Stream::new(self.process.stderr.take().map(OwnedFd::from))?;
        loop {
            // Look for its end first: all its output is in the pipes by then.
            let status = self.reap()?;
            let more = stdout.drain()? | stderr.drain()?;
            let now = clock::now();
            let trouble = if stdout.bytes.len() + stderr.bytes.len() > MOST_OUTPUT {
                "within 64 MiB of output".to_owned()
            } else if let (Some(status), false) = (status, more) {
                return Ok(Output { status, stdout: stdout.bytes, stderr: stderr.bytes });
            } else if now >= deadline {
                format!("within {timeout}")
            } else if interrupt::requested() {
                let (name, id) = (self.name.clone(), self.id());
                drop(self);
                return Err(Error::other(format!("stopped as asked, and `{name}` (process {id}) with it")));
            } else if more {
                continue;
            } else {
                self.sleep(&[&stdout, &stderr], SLICE.min(deadline - now))?;
                continue;
            };
            return Err(self.killed(&trouble, &stderr, &stdout));
        }
    }

    /// The error about a child that this process had to kill.
    fn killed(self, trouble: &str, stderr: &Stream, stdout: &Stream) -> Error {
        let what = format!("the end of `{}` (process {}) {trouble}", self.name, self.id());
        drop(self);
        let last = stderr.last_line().or_else(|| stdout.last_line());
        let said = last.map_or("it had said nothing".to_owned(), |line| format!("its last words were: {line}"));
        Error::from(Cause::Unavailable { what, remedy: format!("it was killed; {said}") })
    }

    /// Its status, if it has ended. If a tracer holds it, the kernel's record of the status has to do.
    fn reap(&mut self) -> Result<Option<ExitStatus>, Error> {
        let mut status = self.try_wait()?;
        if status.is_none() && !self.alive() {
            // An end that shows can be reaped, unless it is held.
            status = self.try_wait()?;
            let since = *self.held_since.get_or_insert_with(clock::now);
            if status.is_none() && clock::now() >= since + HELD {
                status = run_state::unreaped_status(self.id());
            }
        }
        Ok(status)
    }

    fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.process.try_wait().map_err(|error| os("waiting for a process", &error))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.leads && matches!(self.process.try_wait(), Ok(None)) {
            let _ = kill_process_group(pid_of(&self.process), Signal::KILL);
        }
        // Fails only if this handle has reaped it already: its number cannot be another process's yet.
        let _ = self.process.kill();
        let deadline = clock::now() + DYING;
        while clock::now() < deadline && self.alive() {
            let _ = wait_for(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], SLICE);
        }
        let _ = self.process.try_wait();
    }
}

/// This process's ends of a child's standard streams.
#[derive(Debug)]
pub struct Streams<'a> {
    /// Its input.
    pub stdin: &'a mut Option<process::ChildStdin>,
    /// Its output.
    pub stdout: &'a mut Option<process::ChildStdout>,
    /// Its complaints.
    pub stderr: &'a mut Option<process::ChildStderr>,
}

/// The error that says why the program was not started, and the remedy.
fn not_started(name: &str, error: &io::Error) -> Error {
    // The same call as in the child; it changes nothing.
    let refused = parent_process_death_signal().and_then(set_parent_process_death_signal).is_err();
    let at = Path::new(name);
    match Errno::from_io_error(error) {
        Some(Errno::PERM | Errno::NOSYS | Errno::INVAL) if refused => Error::other(format!(
            "the kernel will not promise to end `{name}` with this process: {error}; allow prctl(PR_SET_PDEATHSIG) in the container's seccomp filter"
        )),
        Some(Errno::NOENT) if name.contains('/') && at.exists() => Error::other(format!(
            "the interpreter or loader of `{name}` is missing: correct its first line, or install what that names"
        )),
        Some(errno @ (Errno::NOENT | Errno::ACCESS)) if errno == Errno::NOENT || is_nowhere(name) => {
            let remedy = "give its path, or name a folder in PATH that holds it".to_owned();
            Error::from(Cause::Unavailable { what: format!("the program `{name}`"), remedy })
        }
        Some(Errno::ACCESS) if at.is_dir() => Error::other(format!("`{name}` is a directory: name a program")),
        Some(Errno::ACCESS) => Error::other(format!(
            "`{name}` may not be executed: make it executable (chmod +x) and its folders searchable, on a file system without noexec"
        )),
        Some(Errno::NOEXEC) => Error::other(format!(
            "`{name}` is no program of this machine: build it for this processor, or begin it by #! and its interpreter"
        )),
        _ => Error::other(format!(
            "starting `{name}` failed: {error}; are there limits (ulimit -a), or a filter of the container?"
        )),
    }
}

/// Returns whether it is a plain name that is in no folder of PATH. For such a name, the kernel reports a
/// permission error if one of the folders cannot be searched.
fn is_nowhere(name: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    !name.contains('/') && !env::split_paths(&folders).any(|folder| folder.join(name).exists())
}

/// Runs in the child between fork and exec.
fn prepare(parent: Pid, keep: &[RawFd], limit: Option<Rlimit>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before the line above sends no signal any more.
    if getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    for &fd in keep {
        // SAFETY: `spawn` borrows the descriptors until it returns, which is after exec, so `fd` is open
        // here.
        fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::empty())?;
    }
    limit.map_or(Ok(()), |limit| Ok(setrlimit(Resource::Nofile, limit)?))
}

fn pid_of(process: &process::Child) -> Pid {
    // A process number is positive and fits: it came from the kernel.
    Pid::from_raw(process.id() as i32).unwrap_or(Pid::INIT)
}

fn os(what: &'static str, error: &io::Error) -> Error {
    Error::from(Cause::Os { what, errno: error.raw_os_error().unwrap_or(0), remedy: "" })
}

fn readable(file: &File) -> PollFd<'_> {
    PollFd::new(file, PollFlags::IN)
}

/// Sleeps until one of the descriptors is ready; returns how many are. A signal counts as none.
fn wait_for(watched: &mut [PollFd<'_>], timeout: Nanos) -> Result<usize, Error> {
    let timeout = Timespec { tv_sec: (timeout.0 / 1_000_000_000) as _, tv_nsec: (timeout.0 % 1_000_000_000) as _ };
    match poll(watched, Some(&timeout)) {
        Ok(ready) => Ok(ready),
        Err(Errno::INTR) => Ok(0),
        Err(errno) => Err(os("waiting for a process", &errno.into())),
    }
}

/// A pipe being read without blocking; `None` once it has been read to its end.
struct Stream {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> Result<Self, Error> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, OFlags::NONBLOCK).map_err(|errno| os("reading a process's output", &errno.into()))?;
        }
        Ok(Self { pipe: pipe.map(File::from), bytes: Vec::new() })
    }

    /// Reads the available bytes, in bounded time. Returns whether there may be more.
    fn drain(&mut self) -> Result<bool, Error> {
        let Some(pipe) = &mut self.pipe else { return Ok(false) };
        match pipe.take(GULP as u64).read_to_end(&mut self.bytes) {
            Ok(GULP) => return Ok(true),
            Ok(_) => self.pipe = None,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(os("reading a process's output", &error)),
        }
        Ok(false)
    }

    fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(|line| line.chars().take(200).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};
    use rustix::process::test_kill_process;
    use std::process::Stdio;

    const LONG: Nanos = Nanos::from_ms(60_000);

    fn piped(program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A shell script. It should `exec` its last long command: a killed shell would leave that behind.
    fn shell(script: &str) -> Child {
        Child::spawn(piped("sh", &["-c", script]), &[]).unwrap()
    }

    /// Runs one ignored test of this crate alone in a process of its own.
    pub(crate) fn this_test(name: &str) -> Child {
        let program = std::env::current_exe().unwrap();
        let arguments = ["--exact", name, "--ignored", "--nocapture", "--test-threads=1"];
        Child::spawn(piped(program.to_str().unwrap(), &arguments), &[]).unwrap()
    }

    pub(crate) fn exists(pid: u32) -> bool {
        test_kill_process(Pid::from_raw(pid as i32).unwrap()).is_ok()
    }

    #[test]
    fn output_and_status_come_back() {
        let output = shell("echo out; echo err >&2; exit 3").output_within(LONG).unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn more_output_than_a_pipe_holds_comes_back_whole() {
        let output = shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2").output_within(LONG).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (3_000_000, 2_000_000));
    }

    #[test]
    fn a_dropped_child_is_dead_and_reaped() {
        let child = shell("exec sleep 1000");
        let pid = child.id();
        assert!(exists(pid) && child.alive());
        drop(child);
        assert!(!exists(pid), "process {pid} is still there");
    }

    #[test]
    fn a_group_ends_with_its_first() {
        let script = "sleep 1000 & echo $!; wait";
        let mut child = Child::spawn_group(piped("sh", &["-c", script])).unwrap();
        let mut said = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.streams().stdout.as_mut().unwrap()), &mut said).unwrap();
        let other: u32 = said.trim().parse().unwrap();
        assert!(exists(other));
        drop(child);
        let deadline = clock::now() + LONG;
        // It is a zombie until a process of the machine has reaped it.
        let ended =
            || !exists(other) || std::fs::read_to_string(format!("/proc/{other}/stat")).is_ok_and(|stat| stat.contains(") Z"));
        while !ended() {
            assert!(clock::now() < deadline, "process {other} is still there");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_child_that_takes_too_long_is_killed_and_the_error_says_so() {
        let child = shell("echo I am tired >&2; exec sleep 1000");
        let pid = child.id();
        let error = child.output_within(Nanos::from_ms(300)).unwrap_err().to_string();
        assert!(!exists(pid), "process {pid} is still there");
        for part in ["`sh`", &pid.to_string(), "within 300.00 ms", "killed", "I am tired"] {
            assert!(error.contains(part), "no {part} in: {error}");
        }
    }

    #[test]
    fn endless_output_is_cut_off() {
        let error = Child::spawn(piped("cat", &["/dev/zero"]), &[]).unwrap().output_within(LONG).unwrap_err().to_string();
        assert!(error.contains("64 MiB"), "{error}");
    }

    #[test]
    fn whoever_inherits_the_pipes_is_not_waited_for() {
        let output = shell("sleep 5 & echo $!").output_within(LONG).unwrap();
        let pid: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert!(exists(pid), "it was waited for");
        rustix::process::kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn waiting_ends_at_the_deadline_or_with_the_child() {
        let mut child = shell("exec sleep 1000");
        assert_eq!(child.wait_until(clock::now() + Nanos::from_ms(20)).unwrap(), None);
        assert!(child.alive());
        let mut child = shell("exit 7");
        assert_eq!(child.wait_until(clock::now() + LONG).unwrap().unwrap().code(), Some(7));
        assert!(!child.alive());
        assert_eq!(child.wait_until(Nanos::ZERO).unwrap().unwrap().code(), Some(7), "asked again");
    }

    #[test]
    #[ignore = "runs in a child process of the next test, which names a process to trace"]
    fn tracer() {
        let process: libc::pid_t = env::var("TEST_TRACED").unwrap().parse().unwrap();
        // SAFETY: the call attaches to a process of the test that started this one; it touches no memory.
        let traces = unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0, 0) } == 0;
        println!("{}", if traces { "traces" } else { "may not" });
        std::thread::sleep(std::time::Duration::from_secs(1_000));
    }

    #[test]
    fn a_child_whose_end_a_tracer_holds_has_a_status_all_the_same() {
        let mut child = shell("exec sleep 1000");
        let mut tracer = piped(
            env::current_exe().unwrap().to_str().unwrap(),
            &["--exact", "child::tests::tracer", "--ignored", "--nocapture", "--test-threads=1"],
        );
        tracer.env("TEST_TRACED", child.id().to_string());
        let mut tracer = Child::spawn(tracer, &[]).unwrap();
        let said = io::BufRead::lines(io::BufReader::new(tracer.streams().stdout.take().unwrap()));
        if said.map(Result::unwrap).find(|line| line.ends_with("traces") || line.ends_with("may not")).unwrap().ends_with("not") {
            return eprintln!("skipped: this process may not trace another one");
        }
        rustix::process::kill_process(pid_of(&child.process), Signal::KILL).unwrap();
        while child.alive() {
            std::thread::yield_now();
        }
        assert_eq!(child.try_wait().unwrap(), None, "the tracer has it");
        let began = clock::now();
        let status = child.wait_until(clock::now() + LONG).unwrap().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        drop(child);
        assert!(clock::now() - began < Nanos::from_ms(1_500), "{:?}", clock::now() - began);
    }

    #[test]
    fn kept_descriptors_are_open_in_the_child_and_no_others() {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let script = format!("echo hello > /proc/self/fd/{}", writer.as_raw_fd());
        let kept = Child::spawn(piped("sh", &["-c", &script]), &[writer.as_fd()]).unwrap();
        assert!(kept.output_within(LONG).unwrap().status.success());
        let lost = Child::spawn(piped("sh", &["-c", &script]), &[]).unwrap();
        assert!(!lost.output_within(LONG).unwrap().status.success());
        assert!(rustix::io::fcntl_getfd(&writer).unwrap().contains(FdFlags::CLOEXEC), "changed in this process");
        drop(writer);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_error_that_names_it_and_says_why() {
        let folder = std::env::temp_dir().join(format!("foregather-child-{}", process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let script = folder.join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let [script, folder] = [&script, &folder].map(|path| path.to_str().unwrap());
        for (name, said) in [
            ("/no/such/program", "is missing; "),
            ("no-such-program-of-ours", "is missing; "),
            (folder, "is a directory"),
            ("/proc/version", "may not be executed"),
            (script, "interpreter or loader"),
        ] {
            let error = Child::spawn(Command::new(name), &[]).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")) && error.contains(said), "{error}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Forbids `prctl` altogether, as a filter of a container may.
    fn forbid_prctl() {
        let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
        let filter = [
            // The number of the call.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_prctl as u32, 1),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the kernel copies the filter, whose length is given; it affects this thread and its
        // children only.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
        }
    }

    #[test]
    #[ignore = "runs in a child process of the next test: a filter cannot be taken away"]
    fn under_a_filter() {
        forbid_prctl();
        println!("it said: {}", Child::spawn(Command::new("true"), &[]).unwrap_err());
    }

    #[test]
    fn a_refused_death_signal_is_not_a_missing_program() {
        let output = this_test("child::tests::under_a_filter").output_within(LONG).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("it said: the kernel will not promise to end `true`"), "{output:?}");
    }

    #[test]
    #[ignore = "runs in a child process of the next test, which interrupts it"]
    fn interrupted_with_a_child() {
        interrupt::install().unwrap();
        println!("here");
        println!("it said: {}", shell("exec sleep 1000").output_within(LONG).unwrap_err());
    }

    #[test]
    fn a_child_that_ends_by_a_request_to_stop_is_told_of_in_a_sentence() {
        let mut asked = this_test("child::tests::interrupted_with_a_child");
        let mut lines = io::BufRead::lines(io::BufReader::new(asked.streams().stdout.take().unwrap())).map(Result::unwrap);
        lines.find(|line| line.ends_with("here")).unwrap();
        rustix::process::kill_process(Pid::from_raw(asked.id() as i32).unwrap(), Signal::TERM).unwrap();
        let said = lines.find(|line| line.contains("it said")).unwrap();
        assert!(said.contains("stopped as asked, and `sh` (process ") && said.ends_with("with it"), "{said}");
    }

    #[test]
    #[ignore = "runs in a child process of the next test, which kills it"]
    fn parent_of_a_sleeper() {
        let child = shell("exec sleep 1000");
        println!("sleeper {}", child.id());
        std::thread::sleep(std::time::Duration::from_secs(1_000));
    }

    #[test]
    fn a_child_dies_with_its_parent() {
        let mut parent = this_test("child::tests::parent_of_a_sleeper");
        let mut lines = io::BufRead::lines(io::BufReader::new(parent.streams().stdout.take().unwrap()));
        let sleeper = lines.find_map(|line| line.unwrap().rsplit_once("sleeper ").map(|(_, pid)| pid.parse::<u32>().unwrap()));
        let sleeper = sleeper.unwrap();
        assert!(exists(sleeper));
        drop(parent);
        let running = || std::fs::read_to_string(format!("/proc/{sleeper}/comm")).is_ok_and(|name| name.trim() == "sleep");
        let zombie = || std::fs::read_to_string(format!("/proc/{sleeper}/stat")).is_ok_and(|stat| stat.contains(") Z "));
        for _ in 0..6_000 {
            if !running() || zombie() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("process {sleeper} outlived its parent");
    }
}
