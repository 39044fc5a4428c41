//! What this machine has, what it lacks, and how to get that.
//!
//! - `signals`: what waits and teams decide by. `text`: a diagnosis on a terminal. `packages`: one command
//!   for what is missing.
mod packages;
mod signals;
mod text;

use foregather_dsm::views::Backend;
use foregather_host::{affinity, cgroup, clock, facts};
use foregather_machine::{Cause, Error};
use foregather_measure::cells;
use foregather_measure::peers::{BUILD, Listed, listed, program};
use foregather_measure::product;
use foregather_results::table::ResultTable;
use serde::Serialize;

/// How a fact bears on the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
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
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// What to do, if something can be done.
    pub remedy: String,
    /// What does not work, or gets slower, without it: `without X: no Y`. Empty if it is there, or if that
    /// hardly matters.
    #[serde(skip)]
    pub costs: String,
    /// Whether only benchmarks need it, to compare with.
    #[serde(skip)]
    pub is_peer: bool,
}

/// All checks.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    schema: &'static str,
    /// In the order of the page.
    pub checks: Vec<Check>,
}

fn check(name: &'static str, status: CheckStatus, found: impl Into<String>, remedy: impl Into<String>) -> Check {
    Check { name, status, found: found.into(), remedy: remedy.into(), costs: String::new(), is_peer: false }
}

/// Something that is not there.
fn missing(name: &'static str, found: impl Into<String>, remedy: impl Into<String>, costs: &str) -> Check {
    check(name, CheckStatus::Missing, found, remedy).costing(costs)
}

impl Check {
    fn costing(self, costs: &str) -> Self {
        Self { costs: costs.to_owned(), ..self }
    }

    /// The same as a part that only benchmarks need.
    fn of_benchmarks(self) -> Self {
        Self { is_peer: true, ..self }
    }
}

/// `Ok` if true, otherwise something to know.
fn note_unless(good: bool) -> CheckStatus {
    if good { CheckStatus::Ok } else { CheckStatus::Note }
}

impl Diagnosis {
    /// Looks at everything; takes some tenths of a second.
    pub fn gather() -> Self {
        let mut checks = machine();
        checks.push(shared_memory());
        checks.extend(time());
        checks.extend(scheduling());
        checks.extend(signals::signals());
        checks.extend(signals::teams());
        checks.extend(libraries());
        checks.extend(others().into_iter().chain(peers()).map(Check::of_benchmarks));
        Self { schema: "foregather.doctor/1", checks }
    }

    /// For spreadsheets.
    pub fn table(&self) -> ResultTable {
        let mut table = ResultTable::new(["", "what", "found", "remedy"]);
        for check in &self.checks {
            table.rows.push([check.status.mark(), check.name, &check.found, &check.remedy].map(str::to_owned).into());
        }
        table
    }
}

impl CheckStatus {
    fn mark(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Missing => "missing",
        }
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
        check("processor", CheckStatus::Ok, m.cpu.clone().unwrap_or_else(unknown), ""),
        check("topology", CheckStatus::Ok, topology, ""),
        check("caches", CheckStatus::Ok, m.caches.join(", "), ""),
        check("kernel", CheckStatus::Ok, m.kernel.clone(), ""),
        check("hypervisor", note_unless(m.hypervisor.is_none()), m.hypervisor.clone().unwrap_or_else(|| "none".into()), ""),
        check("governor", CheckStatus::Ok, m.governor.clone().unwrap_or_else(|| "none to be seen".into()), ""),
    ]
}

/// How pages of shared memory would be protected, and why not in the better way.
fn shared_memory() -> Check {
    let (chosen, refusal) = Backend::chosen();
    match refusal {
        None => check("shared memory", CheckStatus::Ok, format!("pages protected by {}", chosen.name()), ""),
        Some(refusal) => {
            let (why, remedy) = refused(&refusal);
            let found = format!("pages protected by {}: {why}", chosen.name());
            check("shared memory", CheckStatus::Note, found, remedy)
                .costing("without userfaultfd: shared memory works, with dearer faults and fewer views")
        }
    }
}

/// What was refused, and what to do about it.
fn refused(error: &Error) -> (String, String) {
    let sentence = error.to_string();
    match error.cause() {
        Cause::Unavailable { what, remedy } => (format!("{what} is missing"), remedy.clone()),
        Cause::Os { .. } => match sentence.split_once("; ") {
            Some((why, remedy)) => (why.to_owned(), remedy.to_owned()),
            None => (sentence, String::new()),
        },
        _ => (sentence, String::new()),
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
            Err(error) => check("clock offset", CheckStatus::Note, error.to_string(), ""),
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
        Ok(_) => check("quota groups", CheckStatus::Ok, format!("cgroup {} can be written", m.cgroup_version), ""),
        Err(error) => {
            let (why, remedy) = refused(&error);
            missing("quota groups", why, remedy, "without groups of one's own: no measurements under a processor quota")
                .of_benchmarks()
        }
    };
    let cpus = format!("{allowed:?}");
    vec![
        match allowed.len() {
            0 | 1 => check("allowed cpus", CheckStatus::Note, cpus, "allow this process two (taskset, cpuset)")
                .costing("without a second processor: nothing is to be seen but switching"),
            _ => check("allowed cpus", CheckStatus::Ok, cpus, ""),
        },
        check("tick, preemption", CheckStatus::Ok, format!("{tick}, {preemption}"), ""),
        groups,
    ]
}

fn library(name: &'static str, files: &[&str], remedy: &str, costs: &str) -> Check {
    match cells::library(files) {
        Some(path) => check(name, CheckStatus::Ok, path, ""),
        None => missing(name, "not found", remedy, &format!("without {name}: {costs}")),
    }
}

/// Libraries that a user's jobs need.
fn libraries() -> [Check; 3] {
    [
        library("libfabric", &["libfabric.so.1"], "install libfabric (Debian: libfabric1)", "no jobs on several hosts"),
        library(
            "PMIx",
            &["libpmix.so.2"],
            "install PMIx (Debian: libpmix2)",
            "no ranks started by srun or other launchers that speak it",
        ),
        mpi(),
    ]
}

/// The MPI libraries that jobs could use as their fabric, of which none is chosen by itself.
fn mpi() -> Check {
    let all: Vec<String> = foregather_mpi::found()
        .into_iter()
        .map(|mpi| format!("{}, {} ({})", mpi.version, mpi.interface, mpi.path.display()))
        .collect();
    if all.is_empty() {
        let remedy = "only for jobs with FOREGATHER_FABRIC=mpi: load the site's MPI, or name its file in FOREGATHER_MPI";
        return check("MPI", CheckStatus::Note, "none found", remedy);
    }
    check("MPI", CheckStatus::Ok, all.join("; "), "")
}

/// Libraries that are compared with.
fn others() -> [Check; 3] {
    [
        library(
            "libgomp",
            &["libgomp.so.1"],
            "install GNU's OpenMP runtime (Debian: libgomp1)",
            "no comparison with GNU's OpenMP",
        ),
        library(
            "libomp",
            &["libomp.so.5", "libomp.so"],
            "install LLVM's OpenMP runtime (Debian: libomp5)",
            "no comparison with clang's OpenMP",
        ),
        match product::numpy() {
            Ok(version) => check("NumPy", CheckStatus::Ok, version, ""),
            Err(why) => {
                let remedy = "install NumPy (Debian: python3-numpy); FOREGATHER_PYTHON names another interpreter than python3";
                missing("NumPy", why, remedy, "without NumPy: no comparison with the BLAS that it uses")
            }
        },
    ]
}

/// The peers' program, and what it finds by its verbs.
pub(super) fn peers() -> Vec<Check> {
    let Some(program) = program() else {
        let costs = "without the program of peers: no comparison with OpenMP runtimes, rayon, hurdles or any BLAS";
        return vec![missing("peers", "not built", format!("`{BUILD}`"), costs)];
    };
    let lists = [("peers: teams", "list-teams"), ("peers: blas", "list-blas")];
    let found = lists.into_iter().flat_map(|(name, verb)| match listed(&program, verb) {
        Ok(listed) => of(name, listed),
        Err(error) => vec![missing(
            name,
            format!("{error:#}"),
            format!("`{BUILD}`"),
            &format!("without the list of {}: none of them is compared", name.replace(':', ",")),
        )],
    });
    [check("peers", CheckStatus::Ok, program.display().to_string(), "")].into_iter().chain(found).collect()
}

/// Those that are here in one line, and one for each remedy.
fn of(name: &'static str, Listed { found, missing }: Listed) -> Vec<Check> {
    let here: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
    let here = (!here.is_empty()).then(|| check(name, CheckStatus::Ok, here.join(", "), ""));
    let lacking = missing.into_iter().map(|of| {
        let costs = format!("without {}: no comparison with {}", of.names, if of.names.contains(',') { "them" } else { "it" });
        self::missing(name, format!("no {}", of.names), of.remedy, &costs)
    });
    here.into_iter().chain(lacking).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_measure::peers::MissingPeers;

    #[test]
    fn a_refusal_and_its_remedy_stand_apart() {
        let refusal = Error::from(Cause::Os { what: "opening userfaultfd", errno: 1, remedy: "allow it" });
        let apart = |why: &str, remedy: &str| (why.to_owned(), remedy.to_owned());
        assert_eq!(refused(&refusal), apart("opening userfaultfd failed: EPERM (Operation not permitted)", "allow it"));
        let lacking = Error::from(Cause::Unavailable { what: "it".to_owned(), remedy: "get it; then again".to_owned() });
        assert_eq!(refused(&lacking), apart("it is missing", "get it; then again"));
    }

    #[test]
    fn what_is_here_is_one_line_and_what_is_missing_one_for_each_remedy() {
        let found = ["gomp", "rayon-join"].map(|name| (name.to_owned(), vec![])).into();
        let missing = vec![MissingPeers { names: "mkl".into(), remedy: "install it".into() }];
        let lines = of("peers: blas", Listed { found, missing });
        let lines: Vec<_> = lines.iter().map(|line| (line.status, line.found.as_str(), line.remedy.as_str())).collect();
        assert_eq!(lines, [(CheckStatus::Ok, "gomp, rayon-join", ""), (CheckStatus::Missing, "no mkl", "install it")]);
        assert!(of("peers: blas", Listed { found: vec![], missing: vec![] }).is_empty());
    }
}
