//! The machine's costs, kept from run to run: `foregather.machine/1` under the user's cache folder. Verbs
//! that need them measure them; programs that find none use typical ones.
use crate::kept::KeptNumber;
use crate::{cache, clock, facts, regular};
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

/// The costs in a file, and how far they can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCosts {
    /// The costs to use: unusual ones count only if they are confirmed.
    pub costs: Costs,
    /// When they were measured last, in seconds since 1970.
    pub measured_unix_s: Option<u64>,
    /// The costs that are unusual and not confirmed yet, as they were measured last: name and value.
    pub unconfirmed: Vec<(&'static str, Nanos)>,
    measured: [KeptNumber; 6],
}

impl KeptCosts {
    fn new(measured: [KeptNumber; 6], measured_unix_s: Option<u64>) -> Self {
        let [least, most] = Costs::USUAL.map(|costs| costs.to_array());
        let usual = |at: usize| [least[at].0, most[at].0];
        let costs = Costs::from_array(std::array::from_fn(|at| Nanos(measured[at].value(usual(at)))));
        let unsure = (0..measured.len()).filter(|&at| !measured[at].is_confirmed(usual(at)));
        let unconfirmed = unsure.map(|at| (Costs::NAMES[at], Nanos(measured[at].newest()))).collect();
        Self { costs, measured_unix_s, unconfirmed, measured }
    }

    /// Costs that were measured once.
    pub fn once(costs: Costs, measured_unix_s: Option<u64>) -> Self {
        Self::new(costs.to_array().map(|cost| KeptNumber::once(cost.0)), measured_unix_s)
    }

    /// The costs as they were measured last, usual or not.
    pub fn newest(&self) -> Costs {
        Costs::from_array(std::array::from_fn(|at| Nanos(self.measured[at].newest())))
    }
}

/// The place of the file: `FOREGATHER_MACHINE`, or under `XDG_CACHE_HOME`, or under `~/.cache`.
pub fn path() -> Option<PathBuf> {
    let named = env::var_os("FOREGATHER_MACHINE").filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(cache::folder()?.join("machine.json")))
}

/// Adds a measurement of this machine's costs to those that are kept. A reader of the file sees the old or
/// the whole new one. Returns the path, and what programs use from now on.
///
/// # Errors
/// If one of the costs is beyond its bounds, there is no place for them, or the file cannot be written; the
/// former file stays.
pub fn store(costs: Costs) -> io::Result<(PathBuf, KeptCosts)> {
    bounded(&costs).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
    let nowhere = || io::Error::new(ErrorKind::NotFound, "no cache folder: set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE");
    let path = path().ok_or_else(nowhere)?;
    // A file that cannot be used is replaced.
    let mut measured = load_measured(&path).ok().flatten().map(|(measured, _)| measured).unwrap_or_default();
    measured.iter_mut().zip(costs.to_array()).for_each(|(measured, cost)| measured.add(cost.0));
    let now = clock::unix_seconds();
    write(&path, &text(&measured, now))?;
    Ok((path, KeptCosts::new(measured, Some(now))))
}

/// Writes costs as if they had been measured once, into a file that [`path`] may name in another process.
///
/// # Errors
/// If the file cannot be written.
pub fn write_once(path: &Path, costs: Costs) -> io::Result<()> {
    write(path, &text(&KeptCosts::once(costs, None).measured, clock::unix_seconds()))
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
/// the kernel's own if it is known.
///
/// # Errors
/// Why the file's costs cannot be used; they must be measured again.
pub fn load() -> io::Result<Option<KeptCosts>> {
    let Some(path) = path() else { return Ok(None) };
    let Some((measured, measured_unix_s)) = load_measured(&path)? else { return Ok(None) };
    let mut kept = KeptCosts::new(measured, measured_unix_s);
    if let Some(tick) = facts::tick() {
        kept.costs.tick = tick;
        kept.unconfirmed.retain(|&(name, _)| name != "tick_ns");
    }
    Ok(Some(kept))
}

/// What this machine's file has.
fn load_measured(path: &Path) -> io::Result<Option<([KeptNumber; 6], Option<u64>)>> {
    let kept = match value(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let (model, kernel) = facts::model_and_kernel();
    let of_this = kept["cpu"].as_str() == model.as_deref() && kept["kernel"].as_str() == Some(&kernel);
    // Costs of another machine may be of another version: they are of no use, and no error. Neither are
    // those that an earlier version measured in passing.
    if (!of_this && kept["schema"].as_str() == Some(SCHEMA)) || kept["quick"] == json!(true) {
        return Ok(None);
    }
    let measured = parse(&kept).map_err(|why| unusable(path, &why))?;
    Ok(Some((measured, kept["measured_unix_s"].as_u64())))
}

/// The costs in a file of any machine, as they were measured last.
///
/// # Errors
/// If it cannot be read, or is no such file.
pub fn read(path: &Path) -> io::Result<Costs> {
    let measured = parse(&value(path)?).map_err(|why| unusable(path, &why))?;
    Ok(KeptCosts::new(measured, None).newest())
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

fn text(measured: &[KeptNumber; 6], measured_unix_s: u64) -> String {
    let (model, kernel) = facts::model_and_kernel();
    // The machine that the costs belong to: another processor or kernel has others.
    let mut file = json!({ "schema": SCHEMA, "cpu": model, "kernel": kernel, "measured_unix_s": measured_unix_s });
    for (name, measured) in Costs::NAMES.into_iter().zip(measured) {
        file[name] = measured.to_json();
    }
    format!("{file:#}\n")
}

fn parse(kept: &Value) -> Result<[KeptNumber; 6], String> {
    if kept["schema"].as_str() != Some(SCHEMA) {
        return Err(format!("its schema is {}, not {SCHEMA:?}; {REMEDY}", kept["schema"]));
    }
    let mut all: [KeptNumber; 6] = Default::default();
    for (name, measured) in Costs::NAMES.into_iter().zip(&mut all) {
        let found = KeptNumber::from_json(&kept[name]);
        *measured = found.ok_or_else(|| format!("{name:?} is {}, not 1 to 3 whole numbers; {REMEDY}", kept[name]))?;
    }
    bounded(&KeptCosts::new(all.clone(), None).newest())?;
    Ok(all)
}

/// Checks that each cost is one that a machine can have.
fn bounded(costs: &Costs) -> Result<(), String> {
    for (name, cost) in Costs::NAMES.into_iter().zip(costs.to_array()) {
        let [least, most] = if name == "tick_ns" { TICK } else { PRICE };
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

    fn once(costs: Costs) -> [KeptNumber; 6] {
        KeptCosts::once(costs, None).measured
    }

    #[test]
    fn costs_come_back_as_they_were_kept() {
        let measured = once(COSTS);
        assert_eq!(parse(&serde_json::from_str(&text(&measured, 7)).unwrap()), Ok(measured));
    }

    #[test]
    fn each_kept_cost_that_is_wrong_twentyfold_is_used_within_its_usual_range_only() {
        let [least, most] = Costs::USUAL.map(|costs| costs.to_array());
        for at in 0..Costs::NAMES.len() {
            for (times, over) in [(20, 1), (1, 20)] {
                let mut costs = Costs::TYPICAL.to_array();
                costs[at] = Nanos(costs[at].0 * times / over);
                let kept = KeptCosts::new(once(Costs::from_array(costs)), None);
                assert_eq!(kept.unconfirmed, [(Costs::NAMES[at], costs[at])]);
                assert_eq!(kept.newest().to_array(), costs);
                let mut used = Costs::TYPICAL.to_array();
                used[at] = if times > over { most[at] } else { least[at] };
                assert_eq!(kept.costs.to_array(), used);
            }
        }
    }

    #[test]
    fn malformed_files_are_refused_with_a_reason() {
        let good: Value = serde_json::from_str(&text(&once(COSTS), 7)).unwrap();
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
        let tick = facts::tick().unwrap_or(COSTS.tick);
        let (stored, kept) = store(COSTS).unwrap();
        assert_eq!((stored, kept.newest()), (path.clone(), COSTS));
        assert!(kept.measured_unix_s.is_some_and(|then| then <= clock::unix_seconds()));
        let costs = || load().unwrap().unwrap().costs;
        // The tick is the kernel's own, whatever was measured.
        assert_eq!((costs().tick, costs().waker), (tick, Costs::USUAL[0].waker), "far too cheap, and measured once");
        let absurd = Costs { waker: Nanos::MAX, ..COSTS };
        assert!(store(absurd).unwrap_err().to_string().contains("waker_ns"));
        store(COSTS).unwrap();
        assert_eq!(costs().waker, Costs::USUAL[0].waker, "measured twice");
        store(COSTS).unwrap();
        assert_eq!(costs(), Costs { tick, ..COSTS }, "measured three times");
        let good = fs::read_to_string(&path).unwrap();
        fs::write(&path, good.replacen("\"waker_ns\": [\n    3,", "\"waker_ns\": [\n    \"3\",", 1)).unwrap();
        let error = load().unwrap_err().to_string();
        assert!(error.contains("waker_ns") && error.contains("foregather measure waits"), "{error}");
        fs::write(&path, good.replace(&facts::machine().kernel, "another kernel")).unwrap();
        assert_eq!(load().unwrap(), None, "another machine's");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing but the file is left");
        fs::remove_file(&path).unwrap();
        // Opening a pipe for reading would wait for a writer.
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(load().unwrap_err().to_string().contains("a pipe"));
        assert!(store(COSTS).unwrap_err().to_string().contains("no regular file"));
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo(), "it is not replaced");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(store(COSTS).unwrap_err().to_string().contains("FOREGATHER_MACHINE"));
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
