//! Threads of other processes: what they do at this moment, and how long they ran and waited so far.
use super::numbers;
use super::page::{CRITICAL_SECTION, OPENMP_LOCK};
use crate::run_state::fields;
use foregather_machine::{CpuId, Nanos, ThreadId};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Fields of `stat` after the name: the state, the kernel's flags of a task, page faults that needed a disk,
/// and the last processor.
const STATE: usize = 0;
const FLAGS: usize = 6;
const DISK_FAULTS: usize = 9;
const PROCESSOR: usize = 36;
/// The flag of a task that is on its way out (PF_EXITING): it runs, but nothing of the program.
const EXITING: u64 = 4;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It runs, or is ready to.
    Runnable,
    /// It sleeps until something happens.
    Sleeping,
    /// It sleeps until a device has answered.
    Device,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has exited, or is about to.
    Exited,
}

/// The system call in which a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemCall {
    /// It waits for a word in memory, at this address.
    Futex {
        /// Where the word is.
        address: u64,
        /// Returns whether the wait ends by itself.
        has_timeout: bool,
    },
    /// It sleeps for some time.
    Sleep,
    /// It waits for events of several files, or for a signal.
    Events,
    /// It waits for a child process.
    Child,
    /// It reads, writes or synchronises a file.
    File,
    /// None of the above.
    Other,
}

/// One look at a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskReading {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: ThreadId,
    /// What it does.
    pub state: TaskState,
    /// How long it has run so far.
    pub ran: Nanos,
    /// How long it has been ready without a processor so far.
    pub queued: Nanos,
    /// The processor on which it was last.
    pub cpu: CpuId,
    /// Page faults so far that needed a disk.
    pub disk_faults: u64,
    /// Where it sleeps; `None` if it runs, or the system does not show it.
    pub call: Option<SystemCall>,
}

/// What changes seldom in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFacts {
    /// The name that it has given itself.
    pub name: String,
    /// The processors on which it may run.
    pub allowed: Vec<CpuId>,
    /// How often it was preempted, or yielded, so far.
    pub preempted: u64,
    /// How often it went to sleep so far.
    pub slept: u64,
}

/// Looks at threads again and again. It keeps their files open, because opening them takes most of the time
/// of a look: 15 us for each thread, and 5 us if they are open.
#[derive(Debug, Default)]
pub struct TaskReader {
    kept: BTreeMap<(u32, ThreadId), TaskFiles>,
}

/// Files of one thread. Once it has exited, they cannot be read, even if another thread gets its number.
#[derive(Debug)]
struct TaskFiles {
    stat: File,
    /// `None` where the kernel keeps no such counts.
    schedstat: Option<File>,
    /// Opened when the thread sleeps. `None` if the system does not show it.
    syscall: Option<File>,
}

/// One part of the files that this process may open is kept: three for each thread.
const OF_THE_LIMIT: u64 = 8;

impl TaskReader {
    /// Looks at all threads of these processes. A process that has ended has none.
    pub fn read(&mut self, processes: impl IntoIterator<Item = u32>) -> Vec<TaskReading> {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / OF_THE_LIMIT;
        let mut before = core::mem::take(&mut self.kept);
        let mut found = Vec::new();
        for process in processes {
            for thread in numbers(&format!("/proc/{process}/task")) {
                let key = (process, thread);
                let Some(mut files) = before.remove(&key).or_else(|| TaskFiles::open(key)) else { continue };
                let Some(reading) = files.read(key) else { continue };
                found.push(reading);
                if (self.kept.len() as u64) < most {
                    self.kept.insert(key, files);
                }
            }
        }
        found
    }
}

impl TaskFiles {
    fn open((process, thread): (u32, ThreadId)) -> Option<Self> {
        let file = |name| File::open(format!("/proc/{process}/task/{thread}/{name}")).ok();
        Some(Self { stat: file("stat")?, schedstat: file("schedstat"), syscall: None })
    }

    fn read(&mut self, (process, thread): (u32, ThreadId)) -> Option<TaskReading> {
        let mut bytes = [0; SHORT];
        let (state, cpu, disk_faults) = parse_stat(read_again(&self.stat, &mut bytes)?)?;
        // A thread without these counts seems to sleep.
        let counts = self.schedstat.as_ref().and_then(|file| parse_schedstat(read_again(file, &mut bytes)?));
        let (ran, queued) = counts.unwrap_or_default();
        let sleeps = matches!(state, TaskState::Sleeping | TaskState::Device);
        if sleeps && self.syscall.is_none() {
            self.syscall = File::open(format!("/proc/{process}/task/{thread}/syscall")).ok();
        }
        let call = self.syscall.as_ref().filter(|_| sleeps).and_then(|file| read_again(file, &mut bytes));
        let call = call.and_then(|text| parse_call(str::from_utf8(text).ok()?));
        Some(TaskReading { process, thread, state, ran, queued, cpu, disk_faults, call })
    }
}

/// Looks at all threads of a process, once.
pub fn read_threads(process: u32) -> Vec<TaskReading> {
    TaskReader::default().read([process])
}

/// Longer than the files of a thread that are read at each look.
const SHORT: usize = 1_024;

/// Reads a file of `/proc` that is shorter than the buffer, from its beginning, by one call.
fn read_again<'a>(file: &File, bytes: &'a mut [u8; SHORT]) -> Option<&'a [u8]> {
    let length = file.read_at(bytes, 0).ok()?;
    Some(&bytes[..length])
}

/// The name, mask and preemptions of a thread. `None` if it has ended.
pub fn read_facts(process: u32, thread: ThreadId) -> Option<TaskFacts> {
    parse_status(&fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?)
}

/// The kernel's function in which a thread sleeps. `None` if it does not sleep, or the system does not show
/// it.
pub fn kernel_function(process: u32, thread: ThreadId) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/task/{thread}/wchan")).ok()?;
    (!matches!(name.as_str(), "" | "0")).then_some(name)
}

/// Returns the thread that holds a lock of a process, by the subject of a wait for it; 0 if it is free. It is
/// kept where the GNU C library has it in a mutex. `None` if the system does not show the memory of the
/// process.
pub fn lock_holder(process: u32, subject: u64) -> Option<ThreadId> {
    const OWNER: u64 = 8;
    let lock = subject & !(CRITICAL_SECTION | OPENMP_LOCK);
    let mut word = [0; 4];
    File::open(format!("/proc/{process}/mem")).ok()?.read_exact_at(&mut word, lock + OWNER).ok()?;
    Some(ThreadId::from_ne_bytes(word))
}

/// Returns whether this user may see in which system calls the threads of a process sleep.
pub fn shows_calls(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/syscall")).is_ok()
}

fn parse_stat(stat: &[u8]) -> Option<(TaskState, CpuId, u64)> {
    let fields = fields(stat)?;
    let state = match *fields.get(STATE)? {
        _ if fields.get(FLAGS)?.parse::<u64>().ok()? & EXITING != 0 => TaskState::Exited,
        "R" => TaskState::Runnable,
        "D" => TaskState::Device,
        "T" | "t" => TaskState::Stopped,
        "Z" | "X" => TaskState::Exited,
        _ => TaskState::Sleeping,
    };
    Some((state, fields.get(PROCESSOR)?.parse().ok()?, fields.get(DISK_FAULTS)?.parse().ok()?))
}

fn parse_schedstat(text: &[u8]) -> Option<(Nanos, Nanos)> {
    let mut words = str::from_utf8(text).ok()?.split_ascii_whitespace().map(|word| word.parse().map(Nanos));
    Some((words.next()?.ok()?, words.next()?.ok()?))
}

/// `202 0x7f.. 0x80 0x0 0x0 ..`: the number, six arguments, the stack and the program counter; `running`, or
/// -1 outside of a call. A thread of the kernel has zeros alone, and is in no call.
fn parse_call(text: &str) -> Option<SystemCall> {
    let mut words = text.split_ascii_whitespace();
    if words.clone().nth(7) == Some("0x0") && words.clone().all(|word| matches!(word, "0" | "0x0")) {
        return Some(SystemCall::Other);
    }
    let number: i64 = words.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    Some(match number {
        libc::SYS_futex => {
            let address = argument()?;
            SystemCall::Futex { address, has_timeout: argument().zip(argument()).and(argument())? != 0 }
        }
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => SystemCall::Sleep,
        libc::SYS_wait4 | libc::SYS_waitid => SystemCall::Child,
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_epoll_pwait | libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => {
            SystemCall::Events
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait | libc::SYS_pause => SystemCall::Events,
        libc::SYS_read | libc::SYS_write | libc::SYS_pread64 | libc::SYS_pwrite64 | libc::SYS_fsync | libc::SYS_fdatasync => {
            SystemCall::File
        }
        libc::SYS_readv | libc::SYS_writev | libc::SYS_preadv | libc::SYS_pwritev | libc::SYS_msync | libc::SYS_sync => {
            SystemCall::File
        }
        _ => SystemCall::Other,
    })
}

fn parse_status(text: &str) -> Option<TaskFacts> {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    Some(TaskFacts {
        name: line("Name:")?.to_owned(),
        allowed: crate::facts::parse_list(line("Cpus_allowed_list:")?)?,
        preempted: line("nonvoluntary_ctxt_switches:")?.parse().ok()?,
        slept: line("voluntary_ctxt_switches:")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;
    use crate::usage::this_thread;
    use crate::watched::surroundings;
    use std::time::{Duration, Instant};

    #[test]
    fn calls_are_read_and_malformed_ones_refused() {
        let futex = format!("{} 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7f01\n", libc::SYS_futex);
        assert_eq!(parse_call(&futex), Some(SystemCall::Futex { address: 0x7f00, has_timeout: false }));
        let timed = format!("{} 0x10 0x189 0x0 0x7ffc 0x0 0x0 0x1 0x2\n", libc::SYS_futex);
        assert_eq!(parse_call(&timed), Some(SystemCall::Futex { address: 16, has_timeout: true }));
        assert_eq!(parse_call(&format!("{} 0x3 0x0\n", libc::SYS_fsync)), Some(SystemCall::File));
        assert_eq!(parse_call(&format!("{} 0x0\n", libc::SYS_clock_nanosleep)), Some(SystemCall::Sleep));
        assert_eq!(parse_call("-1 0x7ffd 0x7f01\n"), Some(SystemCall::Other), "in a page fault");
        let arguments = "0x0 0x0 0x0 0x0 0x0 0x0";
        assert_eq!(parse_call(&format!("0 {arguments} 0x0 0x0\n")), Some(SystemCall::Other), "a thread of the kernel");
        let read = format!("{} {arguments} 0x7ffd 0x7f01\n", libc::SYS_read);
        assert_eq!(parse_call(&read), Some(SystemCall::File), "standard input");
        for nothing in ["running\n", "", &format!("{} 0x7f00\n", libc::SYS_futex)] {
            assert_eq!(parse_call(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_thread_that_is_on_its_way_out_has_exited() {
        let stat = |state: &str, flags: u64| {
            let rest: Vec<String> =
                (0..40).map(|field| if field == FLAGS { flags.to_string() } else { "7".to_owned() }).collect();
            let line = format!("11 (a) b) {state} {}", rest[1..].join(" "));
            parse_stat(line.as_bytes()).map(|(state, ..)| state)
        };
        assert_eq!(stat("R", 0x40_0000), Some(TaskState::Runnable));
        assert_eq!(stat("R", 0x40_0404), Some(TaskState::Exited));
        assert_eq!(stat("S", 0x404), Some(TaskState::Exited));
        assert_eq!(parse_stat(b"11 (a) R 1"), None);
    }

    #[test]
    fn a_busy_thread_of_this_process_is_seen_to_run_on_its_processor() {
        let cpu = affinity::allowed()[0];
        let busy = std::thread::spawn(move || {
            affinity::pin(cpu).unwrap();
            let me = this_thread();
            let read = || read_threads(std::process::id()).into_iter().find(|each| each.thread == me).unwrap();
            let (before, began) = (read(), Instant::now());
            while began.elapsed() < Duration::from_millis(30) {}
            (before, read(), read_facts(std::process::id(), me).unwrap())
        });
        let (before, after, facts) = busy.join().unwrap();
        assert!(after.ran + after.queued > before.ran + before.queued + Nanos::from_ms(20), "{before:?} {after:?}");
        assert_eq!((after.state, after.cpu, after.call), (TaskState::Runnable, cpu, None));
        assert_eq!(facts.allowed, [cpu]);
    }

    #[test]
    fn a_sleeping_child_shows_its_call_and_belongs_to_the_family() {
        let mut reader = TaskReader::default();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut is_asleep = || reader.read([child.id()]).iter().any(|each| each.call == Some(SystemCall::Sleep));
        while !is_asleep() && shows_calls(child.id()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let family = surroundings::family(std::process::id(), &surroundings::process_times());
        let seen = [read_threads(child.id()), reader.read([child.id()])];
        let (facts, function) = (read_facts(child.id(), child.id()), kernel_function(child.id(), child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen[0].len() == 1 && seen[0][0].state == TaskState::Sleeping, "{seen:?}");
        assert_eq!(seen[0], seen[1], "files that are kept show the same");
        assert!(facts.is_some_and(|facts| facts.name == "sleep" && facts.slept > 0));
        assert!(function.is_none_or(|name| name.contains("sleep")));
        assert!(family.contains(&child.id()));
        assert_eq!(reader.read([child.id()]), [], "it has ended");
    }
}
