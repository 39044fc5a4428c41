//! How the kernel schedules this thread, and how busy the machine is.
use crate::{clock, forks};
use core::cell::OnceCell;
use foregather_machine::{Cause, Error, Nanos};
use rustix::process::{getpriority_process, setpriority_process};
use std::fs;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// A scheduling class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedClass {
    /// The fair class of ordinary threads.
    Other,
    /// The fair class, for threads that compute and never react.
    Batch,
    /// Only the time that no other thread wants.
    Idle,
    /// Real time: runs until it blocks or yields.
    Fifo,
    /// Real time, in turns among threads of one priority.
    RoundRobin,
    /// Real time with a budget in each period.
    Deadline,
}

impl SchedClass {
    const ALL: [(Self, libc::c_int); 6] = [
        (Self::Other, libc::SCHED_OTHER),
        (Self::Batch, libc::SCHED_BATCH),
        (Self::Idle, libc::SCHED_IDLE),
        (Self::Fifo, libc::SCHED_FIFO),
        (Self::RoundRobin, libc::SCHED_RR),
        (Self::Deadline, libc::SCHED_DEADLINE),
    ];

    fn number(self) -> libc::c_int {
        Self::ALL.iter().find(|(class, _)| *class == self).map_or(libc::SCHED_OTHER, |&(_, number)| number)
    }

    /// Returns whether a spinning thread of this class starves ordinary threads.
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin | Self::Deadline)
    }
}

/// The calling thread's class; classes that this library does not know count as [`SchedClass::Other`].
pub fn class() -> SchedClass {
    // SAFETY: the call takes a thread number (0: the caller) and touches no memory of ours.
    let number = unsafe { libc::sched_getscheduler(0) };
    let plain = number & !libc::SCHED_RESET_ON_FORK;
    SchedClass::ALL.iter().find(|(_, known)| number >= 0 && *known == plain).map_or(SchedClass::Other, |&(class, _)| class)
}

/// Returns whether the calling thread has a real-time class. Every spin of such a thread must be bounded,
/// because it would starve the thread that wakes it.
pub fn is_realtime() -> bool {
    class().is_realtime()
}

/// Puts the calling thread, and the threads that it starts from now on, into a class. `priority` is 1 (low)
/// to 99 for the real-time classes and 0 for the others.
///
/// # Errors
/// If the priority does not fit the class, this process lacks the right, or the class is
/// [`SchedClass::Deadline`], which needs a budget and a period and is only recognised here.
pub fn set_class(class: SchedClass, priority: i32) -> Result<(), Error> {
    let refused = |errno, remedy| Error::from(Cause::Os { what: "changing the scheduling class", errno, remedy });
    if class == SchedClass::Deadline {
        return Err(refused(libc::EINVAL, "start the program with `chrt --deadline` instead"));
    }
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads `param`, which outlives it, and concerns the calling thread (0) only.
    if unsafe { libc::sched_setscheduler(0, class.number(), &raw const param) } == 0 {
        return Ok(());
    }
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    Err(refused(
        errno,
        if errno == libc::EPERM {
            "run as root, or raise the limit with `ulimit -r` (see also the container's CAP_SYS_NICE)"
        } else {
            "priorities are 1 to 99 for the real-time classes and 0 for the others"
        },
    ))
}

/// The turn of a thread under `SCHED_RR`; `None` if the kernel does not tell.
pub fn round_robin_slice() -> Option<Nanos> {
    let text = fs::read_to_string("/proc/sys/kernel/sched_rr_timeslice_ms").ok()?;
    text.trim().parse().ok().filter(|&ms| ms > 0).map(Nanos::from_ms)
}

/// Makes the calling thread one of [`SchedClass::Other`] with time slices of that length, 0.1 to 100 ms.
/// Returns whether it has them: earlier kernels than Linux 6.12, and filters that forbid the call, leave
/// time slices as they are.
pub fn set_slice(slice: Nanos) -> bool {
    /// The first version of `struct sched_attr`, which all kernels know.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let (size, policy) = (size_of::<Attributes>() as u32, libc::SCHED_OTHER as u32);
    let nice = getpriority_process(None).unwrap_or(0);
    let wanted = Attributes { size, policy, nice, runtime: slice.0, ..Attributes::default() };
    let mut found = Attributes::default();
    // SAFETY: the first call reads `size` bytes of `wanted`, the second writes at most `size` bytes into
    // `found`; both outlive the calls, which concern the calling thread (0) only.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) == 0
            && libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size, 0) == 0
            && found.runtime == slice.0
    }
}

/// Gives the calling thread, and the threads that it starts from now on, a nice value: -20 (much) to 19
/// (little).
///
/// # Errors
/// If the value is out of range, or lower than before and this process lacks the right.
pub fn set_nice(nice: i8) -> Result<(), Error> {
    let refused = |errno| {
        Error::from(Cause::Os { what: "changing the nice value", errno, remedy: "it is -20 to 19; run as root to lower it" })
    };
    if !(-20..=19).contains(&nice) {
        return Err(refused(libc::EINVAL));
    }
    setpriority_process(None, i32::from(nice)).map_err(|errno| refused(errno.raw_os_error()))
}

/// Makes the calling process the first of a session of its own, if it leads no process group yet. Where
/// Linux groups threads by sessions (`sched_autogroup_enabled`), threads of other sessions are then in
/// other queues. Returns whether they are.
pub fn leave_session() -> bool {
    let groups = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "1");
    rustix::process::setsid().is_ok() && groups
}

/// How busy the machine is, and has been since it started. Times add up over its processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemLoad {
    /// Threads running or ready to run at this moment, the caller included.
    pub runnable: u32,
    /// All threads.
    pub tasks: u32,
    /// Time in which the hypervisor ran another machine although this one had work.
    pub steal: Nanos,
    /// Time spent working, in user mode, the kernel and interrupts.
    pub busy: Nanos,
    /// Time without work.
    pub idle: Nanos,
}

/// Reads the machine's load, in some ten microseconds.
///
/// # Errors
/// If `/proc` is not mounted or not readable.
pub fn load() -> Result<SystemLoad, Error> {
    let missing = |what: &str| {
        Error::from(Cause::Unavailable { what: what.to_owned(), remedy: "mount /proc and allow reading it".to_owned() })
    };
    let read = |path: &str| fs::read_to_string(path).map_err(|_| missing(path));
    let loadavg = read("/proc/loadavg")?;
    let (runnable, tasks) = parse_loadavg(&loadavg).ok_or_else(|| missing("a count of threads in /proc/loadavg"))?;
    let stat = read("/proc/stat")?;
    let ticks = parse_stat(&stat).ok_or_else(|| missing("a line of processor times in /proc/stat"))?;
    let [steal, busy, idle] = ticks.map(|n| Nanos(n.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second())));
    Ok(SystemLoad { runnable, tasks, steal, busy, idle })
}

/// How long [`switches_hz`] sleeps.
const COUNTED: Duration = Duration::from_millis(250);

/// Context switches of the machine in a second, counted while the caller sleeps for a quarter of one. `None`
/// if the kernel does not show them.
pub fn switches_hz() -> Option<f64> {
    let count = || parse_switches(&fs::read_to_string("/proc/stat").ok()?);
    let (began, before) = (clock::now(), count()?);
    std::thread::sleep(COUNTED);
    Some((count()? - before) as f64 / (clock::now() - began).as_secs())
}

/// How long this process's living threads have been ready to run without a processor, added up; `None` if the
/// kernel does not count. Take it twice while the threads live: a thread that ends takes its share along.
pub fn run_queue_wait() -> Option<Nanos> {
    let mut total = Nanos::ZERO;
    for thread in fs::read_dir("/proc/self/task").ok()? {
        // A thread that has just ended has no file any more.
        if let Ok(text) = fs::read_to_string(thread.ok()?.path().join("schedstat")) {
            total += parse_schedstat(&text)?;
        }
    }
    Some(total)
}

/// [`run_queue_wait`] of the calling thread alone, for one read of a file that stays open: a microsecond.
/// `None` in the child of a fork, too, if its parent's thread had called it.
pub fn thread_run_queue_wait() -> Option<Nanos> {
    thread_local! {
        /// This thread's file, and the generation of its process: in the child of a fork it is still the
        /// parent's file.
        static FILE: OnceCell<(u32, Option<fs::File>)> = const { OnceCell::new() };
    }
    let here = forks::generation();
    let read = |(generation, file): &(u32, Option<fs::File>)| {
        let mut text = [0; 64];
        let bytes = file.as_ref().filter(|_| *generation == here)?.read_at(&mut text, 0).ok()?;
        parse_schedstat(core::str::from_utf8(&text[..bytes]).ok()?)
    };
    FILE.try_with(|file| read(file.get_or_init(|| (here, fs::File::open("/proc/thread-self/schedstat").ok())))).ok()?
}

/// `0.09 0.05 0.02 1/85 6092`: the fourth field is runnable over all threads.
fn parse_loadavg(text: &str) -> Option<(u32, u32)> {
    let (runnable, tasks) = text.split_ascii_whitespace().nth(3)?.split_once('/')?;
    Some((runnable.parse().ok()?, tasks.parse().ok()?))
}

/// The line `cpu user nice system idle iowait irq softirq steal ...`, as ticks of steal, busy and idle.
fn parse_switches(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()
}

fn parse_stat(text: &str) -> Option<[u64; 3]> {
    let mut words = text.lines().find(|line| line.starts_with("cpu "))?.split_ascii_whitespace().skip(1);
    let mut field = || words.next().map(str::parse::<u64>);
    let mut first = [0; 4];
    for slot in &mut first {
        *slot = field()?.ok()?;
    }
    // Kernels before 2.6.11 stop here.
    let mut later = [0; 4];
    for slot in &mut later {
        *slot = field().unwrap_or(Ok(0)).ok()?;
    }
    let ([user, nice, system, idle], [iowait, irq, softirq, steal]) = (first, later);
    let sum = |parts: &[u64]| parts.iter().fold(0u64, |a, &b| a.saturating_add(b));
    Some([steal, sum(&[user, nice, system, irq, softirq]), sum(&[idle, iowait])])
}

/// `ran waited slices`, nanoseconds.
fn parse_schedstat(text: &str) -> Option<Nanos> {
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_enters_the_idle_class_and_is_seen_there() {
        thread::spawn(|| {
            set_class(SchedClass::Batch, 0).unwrap();
            assert_eq!(class(), SchedClass::Batch);
            set_class(SchedClass::Idle, 0).unwrap();
            assert_eq!(class(), SchedClass::Idle);
            assert!(!is_realtime());
        })
        .join()
        .unwrap();
    }

    /// Needs a right that the test may lack; then the error must name the remedy.
    #[test]
    fn real_time_is_recognised_or_refused_with_a_remedy() {
        thread::spawn(|| match set_class(SchedClass::RoundRobin, 1) {
            Ok(()) => {
                assert!(is_realtime());
                assert_eq!(class(), SchedClass::RoundRobin);
                set_class(SchedClass::Other, 0).unwrap();
                assert!(!is_realtime());
            }
            Err(error) => assert!(error.to_string().contains("root"), "{error}"),
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_becomes_nicer() {
        thread::spawn(|| {
            set_nice(7).unwrap();
            assert_eq!(rustix::process::getpriority_process(None), Ok(7));
            let beyond = set_nice(20);
            assert!(matches!(Error::of(&beyond), Some(Cause::Os { errno: libc::EINVAL, .. })));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn impossible_classes_are_errors() {
        for (class, priority) in
            [(SchedClass::Other, 5), (SchedClass::Fifo, 0), (SchedClass::Fifo, 1_000), (SchedClass::Deadline, 0)]
        {
            assert!(matches!(Error::of(&set_class(class, priority)), Some(Cause::Os { .. })), "{class:?} {priority}");
        }
    }

    #[test]
    fn loads_are_read_and_malformed_ones_refused() {
        assert_eq!(parse_loadavg("0.09 0.05 0.02 1/85 6092\n"), Some((1, 85)));
        for wrong in ["", "0.09 0.05 0.02", "0 0 0 185 1", "0 0 0 -1/85 1", "0 0 0 a/b 1", "0 0 0 99999999999/1 1"] {
            assert_eq!(parse_loadavg(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn processor_times_are_read_and_malformed_ones_refused() {
        let text = "cpu  10 1 5 100 7 2 3 9 4 0\ncpu0 1 1 1 1\n";
        assert_eq!(parse_stat(text), Some([9, 21, 107]), "guest time is part of user time already");
        assert_eq!((parse_switches("cpu 1\nctxt 81\n"), parse_switches("ctxt x\n"), parse_switches("")), (Some(81), None, None));
        assert!(switches_hz().is_some_and(|hz| hz >= 4.0), "this thread slept once");
        assert_eq!(parse_stat("intr 3\ncpu 1 2 3 4\n"), Some([0, 6, 4]));
        for wrong in ["", "cpu0 1 2 3 4", "cpu 1 2 3", "cpu 1 2 x 4", "cpu 1 2 3 4 5 -6"] {
            assert_eq!(parse_stat(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn waits_for_a_processor_are_read_and_malformed_ones_refused() {
        assert_eq!(parse_schedstat("1509776 55163 3\n"), Some(Nanos(55_163)));
        for wrong in ["", "1", "1 x 3", "1 -2 3"] {
            assert_eq!(parse_schedstat(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn this_machine_has_a_load() {
        let load = load().unwrap();
        assert!(load.runnable >= 1 && load.tasks >= load.runnable, "{load:?}");
        assert!(load.busy > Nanos::ZERO, "{load:?}");
        assert!(run_queue_wait().is_some() || !std::path::Path::new("/proc/self/schedstat").exists());
    }

    #[test]
    fn of_two_threads_on_one_processor_each_waits_for_the_other() {
        let cpu = crate::affinity::allowed()[0];
        let lost = move || {
            crate::affinity::pin(cpu).unwrap();
            let before = thread_run_queue_wait();
            let began = std::time::Instant::now();
            while began.elapsed() < std::time::Duration::from_millis(60) {}
            Some(thread_run_queue_wait()? - before?)
        };
        let (one, other) = (std::thread::spawn(lost), std::thread::spawn(lost));
        let lost = one.join().unwrap().zip(other.join().unwrap());
        assert_eq!(lost.is_some(), std::path::Path::new("/proc/thread-self/schedstat").exists());
        assert!(lost.is_none_or(|(one, other)| one + other >= Nanos::from_ms(20)), "{lost:?}");
    }
}
