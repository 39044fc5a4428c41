//! The machine's costs, measured once and kept: `foregather.machine/1` under the user's cache folder.
use crate::facts;
use foregather_machine::{Costs, Nanos};
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

const SCHEMA: &str = "foregather.machine/1";

/// Costs, and how well they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The costs.
    pub costs: Costs,
    /// Measured in passing by a program that needed them, not with care.
    pub quick: bool,
}

/// Where the file is: `FOREGATHER_MACHINE`, or under `XDG_CACHE_HOME`, or under `~/.cache`.
pub fn path() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("FOREGATHER_MACHINE").or_else(|| {
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
        Some(cache.join("foregather").join("machine.json"))
    })
}

/// Keeps the costs of this machine, in one piece: a reader sees the old file or the whole new one. Returns where.
///
/// # Errors
/// If there is no place for them, or it cannot be written.
pub fn store(kept: Kept) -> io::Result<PathBuf> {
    let nowhere = || io::Error::new(ErrorKind::NotFound, "no cache folder: set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE");
    let path = path().ok_or_else(nowhere)?;
    write(&path, &text(kept))?;
    Ok(path)
}

/// Writes a file in one piece, and its folder if there is none.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let named = |what: &str, path: &Path, error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("cannot {what} {}: {error}; name another file in FOREGATHER_MACHINE", path.display()),
        )
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| named("make", folder, error))?;
    }
    let part = path.with_extension(format!("{}.part", process::id()));
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        named("write", path, error)
    })
}

/// The costs kept for this very machine; `None` if there are none, or they are another's.
pub fn load() -> Option<Kept> {
    let kept: Value = serde_json::from_str(&fs::read_to_string(path()?).ok()?).ok()?;
    let machine = facts::machine();
    let of_this = kept["cpu"].as_str() == machine.cpu.as_deref() && kept["kernel"].as_str() == Some(&machine.kernel);
    parse(&kept).ok().filter(|_| of_this)
}

/// The costs in a file, whichever machine they are of.
///
/// # Errors
/// If it cannot be read, or is no such file.
pub fn read(path: &Path) -> io::Result<Costs> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| io::Error::new(error.kind(), format!("cannot read {shown}: {error}")))?;
    let wrong = |why: String| io::Error::new(ErrorKind::InvalidData, format!("{shown} has no costs of a machine: {why}"));
    let kept: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(parse(&kept).map_err(wrong)?.costs)
}

fn text(kept: Kept) -> String {
    let (machine, costs) = (facts::machine(), kept.costs);
    let mut file = json!({
        "schema": SCHEMA,
        // Whose costs they are: another processor or kernel has others.
        "cpu": machine.cpu,
        "kernel": machine.kernel,
        "local_switch_ns": costs.local_switch.0,
        "remote_wake_ns": costs.remote_wake.0,
        "waker_ns": costs.waker.0,
        "yield_switch_ns": costs.yield_switch.0,
        "line_round_trip_ns": costs.line_round_trip.0,
        "tick_ns": costs.tick.0,
    });
    if kept.quick {
        file["quick"] = true.into();
    }
    format!("{file:#}\n")
}

fn parse(kept: &Value) -> Result<Kept, String> {
    if kept["schema"].as_str() != Some(SCHEMA) {
        return Err(format!("its schema is {}, not {SCHEMA:?}; measure again", kept["schema"]));
    }
    let cost = |name: &str| match kept[name].as_u64() {
        Some(ns) if ns > 0 => Ok(Nanos(ns)),
        _ => Err(format!("{name:?} is {}, not a positive number; measure again", kept[name])),
    };
    let costs = Costs {
        local_switch: cost("local_switch_ns")?,
        remote_wake: cost("remote_wake_ns")?,
        waker: cost("waker_ns")?,
        yield_switch: cost("yield_switch_ns")?,
        line_round_trip: cost("line_round_trip_ns")?,
        tick: cost("tick_ns")?,
    };
    Ok(Kept { costs, quick: kept["quick"].as_bool().unwrap_or(false) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        local_switch: Nanos(1),
        remote_wake: Nanos(2),
        waker: Nanos(3),
        yield_switch: Nanos(4),
        line_round_trip: Nanos(5),
        tick: Nanos(6),
    };

    fn scratch(name: &str) -> PathBuf {
        env::temp_dir().join(format!("foregather-costs-{}", process::id())).join(name)
    }

    #[test]
    fn costs_come_back_as_they_were_kept() {
        for quick in [false, true] {
            let kept = Kept { costs: COSTS, quick };
            assert_eq!(parse(&serde_json::from_str(&text(kept)).unwrap()), Ok(kept));
        }
    }

    #[test]
    fn malformed_files_are_refused_with_a_reason() {
        let good: Value = serde_json::from_str(&text(Kept { costs: COSTS, quick: false })).unwrap();
        for (name, value) in [
            ("schema", json!("foregather.machine/2")),
            ("waker_ns", json!(0)),
            ("tick_ns", json!(-1)),
            ("tick_ns", json!("1")),
            ("local_switch_ns", Value::Null),
        ] {
            let mut wrong = good.clone();
            wrong[name] = value;
            let error = parse(&wrong).unwrap_err();
            assert!(error.contains(name) && error.contains("measure again"), "{error}");
        }
        let folder = scratch("d");
        fs::create_dir_all(&folder).unwrap();
        let error = |path: &Path| read(path).unwrap_err().to_string();
        assert!(error(&folder.join("none.json")).starts_with("cannot read "));
        fs::write(folder.join("cut.json"), "{\"schema\": ").unwrap();
        assert!(error(&folder.join("cut.json")).contains("has no costs of a machine"));
        fs::write(folder.join("good.json"), good.to_string()).unwrap();
        assert_eq!(read(&folder.join("good.json")).unwrap(), COSTS);
        fs::remove_dir_all(folder).unwrap();
    }

    /// The environment says where the file is.
    #[test]
    #[ignore = "runs in a child process of the next test"]
    fn keeping() {
        let path = path().unwrap();
        assert_eq!(load(), None, "{}", path.display());
        let kept = Kept { costs: COSTS, quick: true };
        assert_eq!(store(kept).unwrap(), path);
        assert_eq!(load(), Some(kept));
        let other = fs::read_to_string(&path).unwrap().replace(&facts::machine().kernel, "another kernel");
        fs::write(&path, other).unwrap();
        assert_eq!(load(), None, "another machine's");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing but the file is left");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(store(kept).unwrap_err().to_string().contains("FOREGATHER_MACHINE"));
    }

    #[test]
    fn costs_are_kept_where_the_environment_says() {
        for (name, file) in [
            ("FOREGATHER_MACHINE", "a/m.json"),
            ("XDG_CACHE_HOME", "b/foregather/machine.json"),
            ("HOME", "c/.cache/foregather/machine.json"),
        ] {
            let mut command = process::Command::new("env");
            command.args(["-u", "FOREGATHER_MACHINE", "-u", "XDG_CACHE_HOME"]);
            let folder = scratch(file.split('/').next().unwrap());
            let value = if name == "FOREGATHER_MACHINE" { folder.join("m.json") } else { folder.clone() };
            command.arg(format!("{name}={}", value.display())).arg(env::current_exe().unwrap());
            command.args(["--exact", "costs::tests::keeping", "--ignored", "--nocapture"]);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(scratch(file).is_dir(), "{name}");
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
