//! The machine's costs, measured once and kept: `foregather.machine/1` under the user's cache folder.
use crate::{cache, facts, regular};
use foregather_machine::{Costs, Nanos};
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

const SCHEMA: &str = "foregather.machine/1";
/// The most bytes of a file of costs, or of other kept numbers.
pub(crate) const MOST_BYTES: u64 = 64 << 10;
/// The remedy for costs that cannot be used.
const REMEDY: &str = "measure again by `foregather measure waits`";
/// The least and the greatest possible price.
const PRICE: [Nanos; 2] = [Nanos(1), Nanos::from_ms(100)];
/// The least and the greatest possible tick: from a hundred thousand to ten of them a second.
const TICK: [Nanos; 2] = [Nanos::from_us(10), Nanos::from_ms(100)];

/// Costs, and how well they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The costs themselves.
    pub costs: Costs,
    /// Did a program that needed them measure them in passing, without care?
    pub quick: bool,
}

/// The place of the file: `FOREGATHER_MACHINE`, or under `XDG_CACHE_HOME`, or under `~/.cache`.
pub fn path() -> Option<PathBuf> {
    let named = env::var_os("FOREGATHER_MACHINE").filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(cache::folder()?.join("machine.json")))
}

/// Keeps the costs of this machine, in one piece: a reader sees the old file or the whole new one. Returns
/// its path.
///
/// # Errors
/// If one of them is beyond its bounds, there is no place for them, or it cannot be written; the former file
/// stays.
pub fn store(kept: Kept) -> io::Result<PathBuf> {
    bounded(&kept.costs).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
    let nowhere = || io::Error::new(ErrorKind::NotFound, "no cache folder: set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE");
    let path = path().ok_or_else(nowhere)?;
    write(&path, &text(kept))?;
    Ok(path)
}

/// Writes a file in one piece, and makes its folder if needed. It leaves anything but a regular file alone.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let named = |what: &str, path: &Path, error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("cannot {what} {}: {error}; name another file in FOREGATHER_MACHINE", path.display()),
        )
    };
    if let Some(folder) = path.parent() {
        cache::make(folder).map_err(|error| named("make", folder, error))?;
    }
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        let error = io::Error::new(ErrorKind::InvalidInput, "what is there is no regular file");
        return Err(named("write", path, error));
    }
    let part = path.with_extension(format!("{}.part", process::id()));
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        named("write", path, error)
    })
}

/// The costs kept for this very machine; `None` if there are none, or they are another machine's. The tick is
/// the kernel's own if it tells.
///
/// # Errors
/// Why the file's costs cannot be used; they must be measured again.
pub fn load() -> io::Result<Option<Kept>> {
    let Some(path) = path() else { return Ok(None) };
    let kept = match value(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let (model, kernel) = facts::model_and_kernel();
    let of_this = kept["cpu"].as_str() == model.as_deref() && kept["kernel"].as_str() == Some(&kernel);
    // Costs of another machine may be of another version: they are of no use, and no error.
    if !of_this && kept["schema"].as_str() == Some(SCHEMA) {
        return Ok(None);
    }
    let mut kept = parse(&kept).map_err(|why| unusable(&path, &why))?;
    kept.costs.tick = facts::tick().unwrap_or(kept.costs.tick);
    Ok(Some(kept))
}

/// The costs in a file, of whichever machine.
///
/// # Errors
/// If it cannot be read, or is no such file.
pub fn read(path: &Path) -> io::Result<Costs> {
    Ok(parse(&value(path)?).map_err(|why| unusable(path, &why))?.costs)
}

/// The content of a file as JSON, whatever it says.
fn value(path: &Path) -> io::Result<Value> {
    let text = regular::read_text(path, MOST_BYTES);
    let text = text.map_err(|error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))?;
    serde_json::from_str(&text).map_err(|error| unusable(path, &format!("{error}; {REMEDY}")))
}

fn unusable(path: &Path, why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{} has no costs of a machine: {why}", path.display()))
}

fn text(kept: Kept) -> String {
    let ((model, kernel), costs) = (facts::model_and_kernel(), kept.costs);
    let mut file = json!({
        "schema": SCHEMA,
        // The machine that the costs belong to: another processor or kernel has others.
        "cpu": model,
        "kernel": kernel,
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
        return Err(format!("its schema is {}, not {SCHEMA:?}; {REMEDY}", kept["schema"]));
    }
    let cost = |name: &str| match kept[name].as_u64() {
        Some(ns) => Ok(Nanos(ns)),
        _ => Err(format!("{name:?} is {}, not a whole number; {REMEDY}", kept[name])),
    };
    let costs = Costs {
        local_switch: cost("local_switch_ns")?,
        remote_wake: cost("remote_wake_ns")?,
        waker: cost("waker_ns")?,
        yield_switch: cost("yield_switch_ns")?,
        line_round_trip: cost("line_round_trip_ns")?,
        tick: cost("tick_ns")?,
    };
    bounded(&costs)?;
    Ok(Kept { costs, quick: kept["quick"].as_bool().unwrap_or(false) })
}

/// Checks that each cost is one that a machine can have.
fn bounded(costs: &Costs) -> Result<(), String> {
    let Costs { local_switch, remote_wake, waker, yield_switch, line_round_trip, tick } = *costs;
    for (name, cost, [least, most]) in [
        ("local_switch_ns", local_switch, PRICE),
        ("remote_wake_ns", remote_wake, PRICE),
        ("waker_ns", waker, PRICE),
        ("yield_switch_ns", yield_switch, PRICE),
        ("line_round_trip_ns", line_round_trip, PRICE),
        ("tick_ns", tick, TICK),
    ] {
        if !(least..=most).contains(&cost) {
            return Err(format!("{name:?} is {}, not {} to {}; {REMEDY}", cost.0, least.0, most.0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::FileTypeExt;

    const COSTS: Costs = Costs {
        local_switch: Nanos(1),
        remote_wake: Nanos(2),
        waker: Nanos(3),
        yield_switch: Nanos(4),
        line_round_trip: Nanos(5),
        tick: Nanos(4_000_000),
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
            ("remote_wake_ns", json!(u64::MAX)),
            ("yield_switch_ns", json!(100_000_001)),
            ("tick_ns", json!(9_999)),
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
        fs::write(folder.join("long.json"), " ".repeat(MOST_BYTES as usize + 1)).unwrap();
        assert!(error(&folder.join("long.json")).contains("more than the 65536 bytes"));
        assert!(error(&folder).contains("a folder"));
        fs::remove_dir_all(folder).unwrap();
    }

    /// The environment names the file.
    #[test]
    #[ignore = "runs in a child process of the next test"]
    fn keeping() {
        let path = path().unwrap();
        assert_eq!(load().unwrap(), None, "{}", path.display());
        let kept = Kept { costs: COSTS, quick: true };
        assert_eq!(store(kept).unwrap(), path);
        // The tick as the kernel tells it, whatever was measured.
        let told = Kept { costs: Costs { tick: facts::tick().unwrap_or(COSTS.tick), ..COSTS }, ..kept };
        assert_eq!(load().unwrap(), Some(told));
        let absurd = Costs { waker: Nanos::MAX, ..COSTS };
        assert!(store(Kept { costs: absurd, quick: false }).unwrap_err().to_string().contains("waker_ns"));
        assert_eq!(load().unwrap(), Some(told), "what was good stays");
        let good = fs::read_to_string(&path).unwrap();
        fs::write(&path, good.replace("\"waker_ns\": 3", "\"waker_ns\": 18446744073709551615")).unwrap();
        let error = load().unwrap_err().to_string();
        assert!(error.contains("waker_ns") && error.contains("foregather measure waits"), "{error}");
        fs::write(&path, good.replace(&facts::machine().kernel, "another kernel")).unwrap();
        assert_eq!(load().unwrap(), None, "another machine's");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing but the file is left");
        fs::remove_file(&path).unwrap();
        // Opening a pipe for reading would wait for a writer.
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(load().unwrap_err().to_string().contains("a pipe"));
        assert!(store(kept).unwrap_err().to_string().contains("no regular file"));
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo(), "it is not replaced");
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
            fs::create_dir_all(&folder).unwrap();
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
