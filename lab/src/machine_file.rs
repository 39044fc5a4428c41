//! The machine's costs, measured once and kept: `foregather.machine/1` under the user's cache folder.
use crate::results::file;
use anyhow::{Context, Result, ensure};
use foregather_host::facts;
use foregather_machine::{Costs, Nanos};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "foregather.machine/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    schema: String,
    /// Whose costs they are: another processor or kernel has others.
    cpu: Option<String>,
    kernel: String,
    local_switch_ns: u64,
    remote_wake_ns: u64,
    waker_ns: u64,
    yield_switch_ns: u64,
    line_round_trip_ns: u64,
    tick_ns: u64,
}

/// Where the file is: `FOREGATHER_MACHINE`, or under `XDG_CACHE_HOME`, or under `~/.cache`.
pub fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("FOREGATHER_MACHINE").or_else(|| {
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
        Some(cache.join("foregather").join("machine.json"))
    })
}

/// Keeps the costs of this machine.
///
/// # Errors
/// If there is no place for them, or it cannot be written.
pub fn store(costs: &Costs) -> Result<PathBuf> {
    let path = path().context("no cache folder: set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE")?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let machine = facts::machine();
    let kept = MachineFile {
        schema: SCHEMA.into(),
        cpu: machine.cpu,
        kernel: machine.kernel,
        local_switch_ns: costs.local_switch.0,
        remote_wake_ns: costs.remote_wake.0,
        waker_ns: costs.waker.0,
        yield_switch_ns: costs.yield_switch.0,
        line_round_trip_ns: costs.line_round_trip.0,
        tick_ns: costs.tick.0,
    };
    file::write(&path, &serde_json::to_string_pretty(&kept)?)?;
    Ok(path)
}

/// The costs kept for this very machine; `None` if there are none, or they are another's.
pub fn load() -> Option<Costs> {
    parse(&std::fs::read_to_string(path()?).ok()?)
}

/// The costs in a file, whichever machine they are of.
///
/// # Errors
/// If it cannot be read, or is no such file.
pub fn read(path: &Path) -> Result<Costs> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let kept: MachineFile = serde_json::from_str(&text).with_context(|| format!("{shown} has no costs of a machine"))?;
    ensure!(kept.schema == SCHEMA, "{shown} has the schema {:?}, not {SCHEMA:?}: measure again", kept.schema);
    Ok(kept.costs())
}

fn parse(text: &str) -> Option<Costs> {
    let kept: MachineFile = serde_json::from_str(text).ok()?;
    let machine = facts::machine();
    (kept.schema == SCHEMA && kept.cpu == machine.cpu && kept.kernel == machine.kernel).then(|| kept.costs())
}

impl MachineFile {
    fn costs(&self) -> Costs {
        Costs {
            local_switch: Nanos(self.local_switch_ns),
            remote_wake: Nanos(self.remote_wake_ns),
            waker: Nanos(self.waker_ns),
            yield_switch: Nanos(self.yield_switch_ns),
            line_round_trip: Nanos(self.line_round_trip_ns),
            tick: Nanos(self.tick_ns),
        }
    }
}

/// The kept costs, or those measured now (a fifth of a second) and kept if that is possible.
///
/// # Errors
/// If they cannot be measured.
pub fn load_or_measure() -> Result<Costs> {
    if let Some(costs) = load() {
        return Ok(costs);
    }
    let (_, costs) = foregather_bench::prices::measure()?;
    if let Err(error) = store(&costs) {
        eprintln!("foregather: the machine's costs are not kept: {error:#}");
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machines_costs_are_not_used() {
        assert_eq!(parse("not json"), None);
        let machine = facts::machine();
        let text = |kernel: &str| {
            let kept = MachineFile {
                schema: SCHEMA.into(),
                cpu: machine.cpu.clone(),
                kernel: kernel.into(),
                local_switch_ns: 1,
                remote_wake_ns: 2,
                waker_ns: 3,
                yield_switch_ns: 4,
                line_round_trip_ns: 5,
                tick_ns: 6,
            };
            serde_json::to_string(&kept).unwrap()
        };
        assert_eq!(parse(&text("another kernel")), None);
        assert_eq!(parse(&text(&machine.kernel)).map(|costs| costs.remote_wake), Some(Nanos(2)));
    }
}
