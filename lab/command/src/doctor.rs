//! What this machine has, what it lacks, and how to get that.
mod peers;
mod signals;
mod teams;

use foregather_dsm::views::Backend;
use foregather_host::{affinity, cgroup, clock, facts};
use foregather_machine::Cause;
use foregather_measure::children;
use foregather_results::table::ResultTable;
use serde::Serialize;

/// How a fact bears on the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Usable, but worth knowing.
    Note,
    /// Not there; see the remedy.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it stands.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What to do, if something can be done.
    pub remedy: String,
}

/// All checks.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    schema: &'static str,
    /// In the order of the page.
    pub checks: Vec<Check>,
}

fn check(name: &'static str, status: Status, found: impl Into<String>, remedy: impl Into<String>) -> Check {
    Check { name, status, found: found.into(), remedy: remedy.into() }
}

/// `Ok` if true, otherwise something to know.
fn note_unless(good: bool) -> Status {
    if good { Status::Ok } else { Status::Note }
}

impl Diagnosis {
    /// Looks at everything; takes some tenths of a second.
    pub fn gather() -> Self {
        let mut checks = machine();
        checks.push(shared_memory());
        checks.extend(time());
        checks.extend(scheduling());
        checks.extend(signals::signals());
        checks.extend(teams::teams());
        checks.extend(libraries());
        checks.extend(peers::peers());
        Self { schema: "foregather.doctor/1", checks }
    }

    /// For people and spreadsheets.
    pub fn table(&self) -> ResultTable {
        let mut table = ResultTable::new(["", "what", "found", "remedy"]);
        for check in &self.checks {
            let mark = match check.status {
                Status::Ok => "ok",
                Status::Note => "note",
                Status::Missing => "missing",
            };
            table.rows.push([mark, check.name, &check.found, &check.remedy].map(str::to_owned).into());
        }
        table
    }
}

fn machine() -> Vec<Check> {
    let m = facts::machine();
    let unknown = || "unknown".to_owned();
    let number = |n: Option<u32>| n.map_or_else(unknown, |n| n.to_string());
    let topology = format!(
        "{} cpus, {} sockets, {} threads per core, {} NUMA nodes",
        m.cpus_online,
        number(m.sockets),
        number(m.threads_per_core),
        number(m.numa_nodes)
    );
    vec![
        check("processor", Status::Ok, m.cpu.clone().unwrap_or_else(unknown), ""),
        check("topology", Status::Ok, topology, ""),
        check("caches", Status::Ok, m.caches.join(", "), ""),
        check("kernel", Status::Ok, m.kernel.clone(), ""),
        check("hypervisor", note_unless(m.hypervisor.is_none()), m.hypervisor.clone().unwrap_or_else(|| "none".into()), ""),
        check("governor", Status::Ok, m.governor.clone().unwrap_or_else(|| "none to be seen".into()), ""),
    ]
}

/// How pages of shared memory would be protected, and why not in the better way.
fn shared_memory() -> Check {
    let (chosen, refusal) = Backend::chosen();
    let of = |why: String| check("shared memory", Status::Note, format!("pages protected by {}: {why}", chosen.name()), "");
    match refusal {
        None => check("shared memory", Status::Ok, format!("pages protected by {}", chosen.name()), ""),
        Some(refusal) => match refusal.cause() {
            Cause::Unavailable { what, remedy } => Check { remedy: remedy.clone(), ..of(format!("{what} is missing")) },
            Cause::Os { remedy, .. } => Check { remedy: (*remedy).to_owned(), ..of(refusal.to_string()) },
            _ => of(refusal.to_string()),
        },
    }
}

fn time() -> Vec<Check> {
    let facts = clock::facts();
    let why = facts.why_not_tsc.clone();
    let cycle_clock = format!(
        "{} at {:.3} GHz, steps of {:.1} ns, {:.1} ns a reading, calibrated to {:.1} ppm",
        facts.source,
        facts.hz / 1e9,
        facts.precision_ns,
        facts.read_cost_ns,
        facts.calibration_error_ppm
    );
    let mut checks = vec![check("cycle clock", note_unless(why.is_none()), cycle_clock, why.unwrap_or_default())];
    let cpus = affinity::allowed();
    if let [first, .., last] = cpus[..] {
        checks.push(match clock::cross_cpu_offset_bound(first, last) {
            Ok(bound) => {
                let found =
                    format!("{:.0} ns between cpu {first} and cpu {last}, known to +-{:.0} ns", bound.offset_ns, bound.bound_ns);
                check("clock offset", note_unless(bound.offset_ns.abs() <= bound.bound_ns), found, "")
            }
            Err(error) => check("clock offset", Status::Note, error.to_string(), ""),
        });
    }
    checks
}

fn scheduling() -> Vec<Check> {
    let m = facts::machine();
    let allowed = affinity::allowed();
    let tick = m.tick_hz.map_or("unknown".to_owned(), |hz| format!("{hz} Hz"));
    let preemption = m.preemption.unwrap_or_else(|| "unknown".into());
    let groups = match cgroup::QuotaGroup::new(1.0) {
        Ok(_) => check("quota groups", Status::Ok, format!("cgroup {} can be written", m.cgroup_version), ""),
        Err(error) => check("quota groups", Status::Missing, error.to_string(), "only rows with a quota need them"),
    };
    vec![
        check(
            "allowed cpus",
            note_unless(allowed.len() > 1),
            format!("{allowed:?}"),
            if allowed.len() > 1 { "" } else { "two are needed to see anything but switching" },
        ),
        check("tick, preemption", Status::Ok, format!("{tick}, {preemption}"), ""),
        groups,
    ]
}

fn libraries() -> Vec<Check> {
    let library = |name: &'static str, files: &[&str], remedy: &str| match children::library(files) {
        Some(path) => check(name, Status::Ok, path, ""),
        None => check(name, Status::Missing, "not found", remedy),
    };
    vec![
        library("libgomp", &["libgomp.so.1"], "install libgomp1 (Debian's name)"),
        library("libomp", &["libomp.so.5", "libomp.so"], "install libomp5-14 or a newer libomp5 (Debian's names)"),
        library("libfabric", &["libfabric.so.1"], "install libfabric1 (Debian's name); jobs on several hosts use it"),
        library(
            "PMIx",
            &["libpmix.so.2"],
            "install libpmix2 (Debian's name); ranks find each other by it under srun and other launchers",
        ),
    ]
}
