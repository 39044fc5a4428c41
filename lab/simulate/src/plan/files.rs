//! Files that a plan names, traces and the costs of machines, each read once.
use super::read::nanos;
use foregather_host::{costs, regular};
use foregather_machine::{Costs, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The longest trace, which has a time a line.
const TRACE_BYTES_MAX: u64 = 64 << 20;

/// A measured distribution.
type TraceFile = Arc<[Nanos]>;

/// A folder, and what was read from it.
pub(super) struct PlanFiles {
    folder: PathBuf,
    traces: Mutex<BTreeMap<String, Result<TraceFile, String>>>,
    /// Files with the costs of other machines that were read.
    costs: Mutex<BTreeSet<PathBuf>>,
    machine: OnceLock<Option<Costs>>,
}

impl PlanFiles {
    /// Paths are relative to `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), traces: Mutex::default(), costs: Mutex::default(), machine: OnceLock::new() }
    }

    /// The costs kept for this machine.
    pub(super) fn machine(&self) -> Option<Costs> {
        *self.machine.get_or_init(|| costs::load().ok().flatten().map(|kept| kept.costs))
    }

    /// Whether a study needed the costs kept for this machine.
    pub(super) fn asked_for_costs(&self) -> bool {
        self.machine.get().is_some()
    }

    /// The costs in a file of another machine.
    pub(super) fn costs(&self, path: &str) -> Result<Costs, String> {
        let path = self.folder.join(path);
        let read = costs::read(&path).map_err(|error| error.to_string());
        self.costs.lock().expect("nobody panics with this lock").insert(path);
        read
    }

    /// The files that were read.
    pub(super) fn inputs(&self) -> Vec<PathBuf> {
        let traces = self.traces.lock().expect("nobody panics while reading a trace");
        let costs = self.costs.lock().expect("nobody panics with this lock");
        traces.keys().map(|path| self.folder.join(path)).chain(costs.iter().cloned()).collect()
    }

    /// The times in a file, one a line.
    pub(super) fn trace(&self, path: &str) -> Result<TraceFile, String> {
        let mut traces = self.traces.lock().expect("nobody panics while reading a trace");
        traces.entry(path.to_owned()).or_insert_with(|| read_trace(&self.folder.join(path))).clone()
    }
}

fn read_trace(path: &Path) -> Result<TraceFile, String> {
    let shown = path.display();
    let text = regular::read_text(path, TRACE_BYTES_MAX).map_err(|error| format!("cannot read the trace {shown}: {error}"))?;
    let mut times = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let time =
                line.parse().map(Nanos).or_else(|_| nanos(line)).map_err(|error| format!("{shown}:{}: {error}", at + 1))?;
            times.push(time);
        }
    }
    if times.is_empty() { Err(format!("there are no times in the trace {shown}: write one a line")) } else { Ok(times.into()) }
}
