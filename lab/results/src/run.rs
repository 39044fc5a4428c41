//! From the beginning of an experiment to its results, and where these come from: machine, kernel, program
//! and circumstances.
use super::{Measurement, NoiseMeter, Results, SCHEMA, Verdict};
use foregather_host::child::Child;
use foregather_host::{affinity, cgroup, clock, facts, sched};
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};

/// An experiment that is going on: what has to be noted before the first measurement.
pub struct Run {
    experiment: String,
    seed: Option<u64>,
    started_unix_s: u64,
    provenance: Provenance,
    began: Nanos,
    meter: NoiseMeter,
}

impl Run {
    /// Looks around, and starts watching for noise.
    pub fn begin(experiment: &str, seed: Option<u64>) -> Self {
        let (experiment, started_unix_s) = (experiment.to_owned(), clock::unix_seconds());
        let provenance = Provenance::gather();
        Self { experiment, seed, started_unix_s, provenance, began: clock::now(), meter: NoiseMeter::start() }
    }

    /// The results, complete or, if the run was interrupted, what there is of them.
    pub fn end(self, interrupted: bool, measurements: Vec<Measurement>, verdicts: Vec<Verdict>, notes: Vec<String>) -> Results {
        let mut provenance = self.provenance;
        provenance.finish();
        Results {
            schema: SCHEMA.to_owned(),
            experiment: self.experiment,
            argv: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
            started_unix_s: self.started_unix_s,
            seconds: (clock::now() - self.began).as_secs(),
            seed: self.seed,
            interrupted,
            provenance,
            noise: self.meter.stop(&measurements),
            measurements,
            timelines: Vec::new(),
            verdicts,
            notes,
        }
    }
}

/// The circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The processor's name.
    pub cpu: Option<String>,
    /// Processors that are switched on.
    pub cpus_online: u32,
    /// Those on which this process may run: `0-3,8`.
    pub cpus_allowed: String,
    /// How many of them its control group lets it use at a time.
    pub quota_cpus: Option<f64>,
    /// The version of control groups.
    pub cgroup_version: Option<String>,
    /// Hardware threads per core.
    pub threads_per_core: Option<u32>,
    /// The processor's microcode.
    pub microcode: Option<String>,
    /// The frequency governor.
    pub governor: Option<String>,
    /// What puts idle processors to sleep.
    pub idle: Option<String>,
    /// The kernel's release and version.
    pub kernel: Option<String>,
    /// Words of its command line that change how it schedules, idles or tells time.
    pub kernel_hints: Vec<String>,
    /// How it lets itself be preempted.
    pub preemption: Option<String>,
    /// The kernel's source of time.
    pub clocksource: Option<String>,
    /// This program's source of time: `tsc` or `monotonic`.
    pub clock: String,
    /// Its steps a second: what a cycle is in these numbers.
    pub clock_hz: f64,
    /// The hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Transparent huge pages.
    pub thp: Option<String>,
    /// Threads running or ready on the machine, before the run and after it.
    pub runnable: (Option<u32>, Option<u32>),
    /// What the hypervisor had taken since the machine started, before the run and after it.
    pub steal_ns: (Option<u64>, Option<u64>),
    /// The commit of the checkout that this program was built in, if that is still there.
    pub commit: Option<String>,
    /// Whether that checkout had uncommitted changes.
    pub dirty: Option<bool>,
    /// The compiler of this program.
    pub rustc: String,
    /// The version of this program.
    pub foregather: String,
}

impl Provenance {
    /// What there is to say, each with its name: for a page.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let pair = |(before, after): (Option<String>, Option<String>)| Some(format!("{} before, {} after", before?, after?));
        let commit = self.commit.as_ref().map(|c| c.clone() + if self.dirty == Some(true) { " with changes" } else { "" });
        let runnable = (self.runnable.0.map(|n| n.to_string()), self.runnable.1.map(|n| n.to_string()));
        let seconds = |ns: Option<u64>| ns.map(|ns| format!("{:.2} s", ns as f64 / 1e9));
        let all = [
            ("cpu", self.cpu.clone()),
            ("cpus online", Some(self.cpus_online.to_string())),
            ("cpus allowed", Some(self.cpus_allowed.clone())),
            ("quota", Some(self.quota_cpus.map_or_else(|| "none".to_owned(), |q| format!("{q} cpus")))),
            ("cgroup version", self.cgroup_version.clone()),
            ("threads per core", self.threads_per_core.map(|n| n.to_string())),
            ("microcode", self.microcode.clone()),
            ("governor", self.governor.clone()),
            ("idle", self.idle.clone()),
            ("kernel", self.kernel.clone()),
            ("kernel hints", Some(self.kernel_hints.join(" ")).filter(|hints| !hints.is_empty())),
            ("preemption", self.preemption.clone()),
            ("clocksource", self.clocksource.clone()),
            ("clock", Some(format!("{} at {:.3} GHz", self.clock, self.clock_hz / 1e9))),
            ("hypervisor", self.hypervisor.clone()),
            ("huge pages", self.thp.clone()),
            ("runnable", pair(runnable)),
            ("steal", pair((seconds(self.steal_ns.0), seconds(self.steal_ns.1)))),
            ("commit", commit),
            ("rustc", Some(self.rustc.clone())),
            ("foregather", Some(self.foregather.clone())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// What differs between two runs and makes them hard to compare: its name, and both values.
    pub fn differences(a: &Self, b: &Self) -> Vec<(&'static str, String, String)> {
        // These differ between any two runs; the clock's calibration does in its last digits, which are not
        // shown.
        const PASSING: [&str; 2] = ["runnable", "steal"];
        let (a, b) = (a.entries(), b.entries());
        let value = |all: &[(&str, String)], name: &str| {
            all.iter().find(|e| e.0 == name).map_or_else(|| "unknown".to_owned(), |e| e.1.clone())
        };
        let mut names: Vec<&'static str> = a.iter().chain(&b).map(|e| e.0).filter(|name| !PASSING.contains(name)).collect();
        names.sort_unstable();
        names.dedup();
        let both = names.into_iter().map(|name| (name, value(&a, name), value(&b, name)));
        both.filter(|(_, a, b)| a != b).collect()
    }
}

/// More than git needs even from a cold disk; without an answer there is no commit in the record.
const GIT: Nanos = Nanos::from_ms(5_000);

impl Provenance {
    /// The circumstances before a run. Complete it afterwards with [`Provenance::finish`].
    pub fn gather() -> Self {
        let (machine, load, time) = (facts::machine(), sched::load().ok(), clock::facts());
        let (commit, dirty) = built_from();
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
            dirty,
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

/// Returns the commit that this program was built from, and whether there were changes. A release has its
/// commit in it, and no path of the machine that built it.
fn built_from() -> (Option<String>, Option<bool>) {
    if let Some(commit) = option_env!("FOREGATHER_COMMIT") {
        return (Some(commit.to_owned()), Some(false));
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let changes = commit.as_ref().and_then(|_| git(&["status", "--porcelain", "--untracked-files=no"]));
    (commit, changes.map(|changes| !changes.is_empty()))
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
    fn differences_name_what_matters_and_not_what_always_differs() {
        let a =
            Provenance { kernel: Some("6.1".into()), quota_cpus: Some(0.5), runnable: (Some(1), Some(2)), ..Default::default() };
        let b = Provenance { kernel: Some("6.18".into()), runnable: (Some(3), Some(2)), clock_hz: 1.0, ..Default::default() };
        assert_eq!(Provenance::differences(&a, &a), []);
        let names: Vec<_> = Provenance::differences(&a, &b).into_iter().map(|d| d.0).collect();
        assert_eq!(names, ["kernel", "quota"]);
        let c = Provenance::default();
        assert_eq!(Provenance::differences(&a, &c)[0], ("kernel", "6.1".to_owned(), "unknown".to_owned()));
    }

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
