//! A group of processes with less processor time than the machine has: a container's quota, made for an
//! experiment.
use super::place::{CgroupDir, CgroupVersion};
use super::places;
use foregather_machine::{Cause, Error};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The period over which quotas are kept, as container runtimes set it.
const PERIOD_US: u64 = 100_000;
/// The kernel grants no less than a millisecond for each period.
const CPUS: core::ops::RangeInclusive<f64> = 0.01..=10_000.0;

/// A control group of this process's making. Dropping it removes it; its processes must have ended by then.
#[derive(Debug)]
pub struct QuotaGroup {
    path: PathBuf,
}

impl QuotaGroup {
    /// Makes a group whose processes together get `cpus` processors' worth of time.
    ///
    /// # Errors
    /// If `cpus` is not in 0.01 to 10,000, no hierarchy with the cpu controller is mounted, or this process
    /// may not make groups in any of them; the error says why for each, and the remedy.
    pub fn new(cpus: f64) -> Result<Self, Error> {
        if !CPUS.contains(&cpus) {
            let remedy = "ask for 0.01 to 10000 processors";
            return Err(Error::from(Cause::Os { what: "setting a quota of processor time", errno: libc::EINVAL, remedy }));
        }
        let mut refusals = Vec::new();
        for place in places() {
            match Self::within(&place, cpus) {
                Ok(group) => return Ok(group),
                Err(why) => refusals.push(why),
            }
        }
        let why = if refusals.is_empty() {
            "no control groups are mounted: see `mount -t cgroup2 none /sys/fs/cgroup`".to_owned()
        } else {
            format!("run as root or under `systemd-run --user --scope -p Delegate=yes` ({})", refusals.join("; "))
        };
        Err(Error::from(Cause::Unavailable { what: "the right to limit processor time".to_owned(), remedy: why }))
    }

    /// Moves a process, with all its threads, into the group. Its future children start there.
    ///
    /// # Errors
    /// If there is no such process, or this process may not move it.
    pub fn enter(&self, pid: u32) -> Result<(), Error> {
        let remedy = "the process must be running, of an ordinary scheduling class, and this user's own";
        write(&self.path.join("cgroup.procs"), &pid.to_string()).map_err(|error| {
            Error::from(Cause::Os {
                what: "moving a process into a control group",
                errno: error.raw_os_error().unwrap_or(0),
                remedy,
            })
        })
    }

    /// The number of periods in which the group has been stopped because its time was used up.
    pub fn throttled(&self) -> Option<u64> {
        parse_throttled(&fs::read_to_string(self.path.join("cpu.stat")).ok()?)
    }

    fn within(place: &CgroupDir, cpus: f64) -> Result<Self, String> {
        match place.version {
            CgroupVersion::V1 => Self::below(&place.own, CgroupVersion::V1, cpus),
            // A group of version 2 with processes in it cannot limit groups below it; one beside it can be
            // limited.
            CgroupVersion::V2 => {
                let beside = place.own.parent().filter(|parent| parent.starts_with(&place.mount));
                let own = enable(&place.own).and_then(|()| Self::below(&place.own, CgroupVersion::V2, cpus));
                own.or_else(|why| beside.map_or(Err(why), |parent| Self::below(parent, CgroupVersion::V2, cpus)))
            }
        }
    }

    fn below(parent: &Path, version: CgroupVersion, cpus: f64) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = parent.join(format!("foregather-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // From here on it is removed if anything fails.
        let group = Self { path };
        let quota = (cpus * PERIOD_US as f64).round() as u64;
        let limits = match version {
            CgroupVersion::V1 => vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())],
            CgroupVersion::V2 => vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
        };
        for (file, text) in limits {
            let file = group.path.join(file);
            write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(group)
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        // The kernel may take a moment to release a process that has just ended.
        for _ in 0..100 {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
    }
}

/// Lets the groups below this one limit processor time, if they may not already.
fn enable(group: &Path) -> Result<(), String> {
    let file = group.join("cgroup.subtree_control");
    let controllers = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    if controllers.split_ascii_whitespace().any(|controller| controller == "cpu") {
        return Ok(());
    }
    write(&file, "+cpu").map_err(|error| format!("{}: {error}", file.display()))
}

/// Writes into a file of the kernel's, which must exist: `fs::write` would try to make it.
fn write(file: &Path, text: &str) -> io::Result<()> {
    io::Write::write_all(&mut fs::OpenOptions::new().write(true).open(file)?, text.as_bytes())
}

/// The number in the line `nr_throttled N`, which both versions have.
fn parse_throttled(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Child;
    use crate::{cgroup, clock, sched};
    use foregather_machine::Nanos;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// `None`, with a line on stderr, where the test's user may not make groups or its children may not enter
    /// them.
    fn group(cpus: f64) -> Option<QuotaGroup> {
        if sched::is_realtime() {
            eprintln!("skipped: a quota is for ordinary scheduling classes");
            return None;
        }
        match QuotaGroup::new(cpus) {
            Ok(group) => Some(group),
            Err(error) => {
                assert!(error.to_string().contains("root") || error.to_string().contains("mount"), "{error}");
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    #[test]
    fn a_busy_process_in_a_group_is_throttled_and_the_group_vanishes() {
        let Some(group) = group(0.05) else { return };
        let path = group.path.clone();
        assert_eq!(group.throttled(), Some(0));
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        let child = Child::spawn(command, &[]).unwrap();
        group.enter(child.id()).unwrap();
        let deadline = clock::now() + Nanos::from_ms(30_000);
        while group.throttled() == Some(0) && clock::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(group.throttled() > Some(0));
        drop(child);
        drop(group);
        assert!(!path.exists(), "{}", path.display());
    }

    #[test]
    #[ignore = "runs in a child process of the next test, inside a group"]
    fn quota_inside_a_group() {
        println!("quota {:?}", cgroup::quota());
    }

    #[test]
    fn a_process_sees_the_quota_of_its_group() {
        let Some(group) = group(0.5) else { return };
        let this = std::env::current_exe().unwrap();
        let test = "exec \"$0\" --exact cgroup::group::tests::quota_inside_a_group --ignored --nocapture";
        let mut command = Command::new("sh");
        command.args(["-c", &format!("read go; {test}")]).arg(this).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Child::spawn(command, &[]).unwrap();
        group.enter(child.id()).unwrap();
        child.streams().stdin.take().unwrap().write_all(b"go\n").unwrap();
        let output = child.output_within(Nanos::from_ms(60_000)).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let expected = cgroup::quota().unwrap_or(0.5).min(0.5);
        assert!(said.contains(&format!("quota Some({expected:?})")), "{said}");
    }

    #[test]
    fn impossible_quotas_and_processes_are_errors() {
        for cpus in [0.0, -1.0, 0.009, f64::NAN, f64::INFINITY, 1e9] {
            assert!(QuotaGroup::new(cpus).is_err(), "{cpus}");
        }
        let Some(group) = group(1.0) else { return };
        // Above the largest possible process number.
        assert!(matches!(Error::of(&group.enter(1 << 30)), Some(Cause::Os { errno: libc::ESRCH, .. })));
    }

    #[test]
    fn throttled_periods_are_read_and_malformed_ones_refused() {
        assert_eq!(parse_throttled("nr_periods 9\nnr_throttled 4\nthrottled_time 8\n"), Some(4));
        for wrong in ["", "nr_throttled", "nr_throttled x", "nr_throttled -1"] {
            assert_eq!(parse_throttled(wrong), None, "{wrong}");
        }
    }
}
