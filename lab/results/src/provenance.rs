//! Where numbers come from: machine, kernel, limits and build. What cannot be told is left out, never guessed.
use serde::{Deserialize, Serialize};

mod gather;

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
    /// Who puts idle processors to sleep.
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
    /// Had that checkout changes that were not committed?
    pub dirty: Option<bool>,
    /// The compiler of this program.
    pub rustc: String,
    /// The version of this program.
    pub foregather: String,
}

impl Provenance {
    /// What there is to say, each with its name: for people.
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
        // These differ between any two runs; the clock's calibration does in its last digits, which are not shown.
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
}
