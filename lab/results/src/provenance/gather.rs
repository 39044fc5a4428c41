//! Looking around: the host's facts, and git for the commit.
use super::Provenance;
use foregather_host::child::Child;
use foregather_host::{affinity, cgroup, clock, facts, sched};
use foregather_machine::Nanos;
use std::process::{Command, Stdio};

/// More than git needs even from a cold disk; without an answer there is no commit in the record.
const GIT: Nanos = Nanos::from_ms(5_000);

impl Provenance {
    /// The circumstances before a run. Complete it afterwards with [`Provenance::finish`].
    pub fn gather() -> Self {
        let (machine, load, time) = (facts::machine(), sched::load().ok(), clock::facts());
        let commit = git(&["rev-parse", "--short=12", "HEAD"]);
        let dirty = commit.as_ref().and_then(|_| git(&["status", "--porcelain", "--untracked-files=no"]));
        Self {
            cpu: machine.cpu,
            cpus_online: machine.cpus_online,
            cpus_allowed: list(&affinity::allowed()),
            quota_cpus: cgroup::quota(),
            cgroup_version: Some(machine.cgroup_version.to_owned()),
            threads_per_core: machine.threads_per_core,
            microcode: machine.microcode,
            governor: machine.governor,
            idle: machine.idle_driver,
            kernel: Some(machine.kernel).filter(|kernel| !kernel.is_empty()),
            kernel_hints: machine.kernel_cmdline_hints,
            preemption: machine.preemption,
            clocksource: machine.clocksource,
            clock: time.source.to_owned(),
            clock_hz: time.hz,
            hypervisor: machine.hypervisor,
            thp: machine.thp,
            runnable: (load.map(|l| l.runnable), None),
            steal_ns: (load.map(|l| l.steal.0), None),
            dirty: dirty.map(|changes| !changes.is_empty()),
            commit,
            rustc: env!("FOREGATHER_RUSTC").to_owned(),
            foregather: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Adds what can be told only after the run.
    pub fn finish(&mut self) {
        let load = sched::load().ok();
        self.runnable.1 = load.map(|l| l.runnable);
        self.steal_ns.1 = load.map(|l| l.steal.0);
    }
}

/// What git says about the checkout that this program was built in; `None` if it is gone, or git is.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(["-C", env!("CARGO_MANIFEST_DIR")]).args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = Child::spawn(command, &[]).ok()?.output_within(GIT).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Ascending numbers as a list of ranges: `0-3,8`.
fn list(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_by_ranges() {
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn this_machine_has_a_provenance() {
        let mut here = Provenance::gather();
        here.finish();
        assert!(here.cpus_online >= 1 && !here.cpus_allowed.is_empty(), "{here:?}");
        assert!(here.kernel.is_some() && here.clock_hz > 0.0 && here.rustc.starts_with("rustc "), "{here:?}");
        assert!(here.runnable.1.is_some_and(|n| n >= 1), "{here:?}");
    }
}
