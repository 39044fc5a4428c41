//! The yardstick of this project's ping-pong: the same exchange in C, compiled at run time by this machine's
//! compiler. One call is one short batch, so that the caller can alternate the two.
use crate::peer_error::PeerError;
use foregather_host::affinity;
use foregather_host::child::Child;
use foregather_machine::{Error, Nanos};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output, Stdio};

const SOURCE: &str = include_str!("../c/ping_pong.c");
const MOST_ROUNDS: u32 = 1_000_000;
/// The bound for compiling, and for a batch.
const PATIENCE: Nanos = Nanos::from_ms(60_000);
const COMPILER: &str = "install a C compiler and the C library's headers (Debian: gcc libc6-dev), or name one in CC";

/// The batch to run.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    cpus: (u32, u32),
    rounds: u32,
    build_dir: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, PeerError> {
        let usage = |text: String| PeerError::Usage(format!("ping-pong: {text}"));
        let (mut cpus, mut rounds, mut build_dir) = (None, None, None);
        for option in arguments.chunks(2) {
            match *option {
                ["--cpus", value] => {
                    let pair = value.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    cpus = Some(pair.ok_or_else(|| usage(format!("`{value}` is not two processors, as in 0,1")))?);
                }
                ["--rounds", value] => {
                    let count = value.parse().ok().filter(|count| (1..=MOST_ROUNDS).contains(count));
                    rounds = Some(count.ok_or_else(|| usage(format!("`{value}` is not 1 to {MOST_ROUNDS} rounds")))?);
                }
                ["--build-dir", value] => build_dir = Some(PathBuf::from(value)),
                _ => return Err(usage(format!("`{}` is not understood", option.join(" ")))),
            }
        }
        match (cpus, rounds) {
            (Some(cpus), Some(rounds)) => Ok(Self { cpus, rounds, build_dir }),
            _ => Err(usage("--cpus and --rounds are needed".to_owned())),
        }
    }
}

/// Runs one batch; returns the cycles of its round trips as JSON.
pub(crate) fn run(options: &Options) -> Result<String, PeerError> {
    let (a, b) = options.cpus;
    let allowed = affinity::allowed();
    if a == b || !allowed.contains(&a) || !allowed.contains(&b) {
        return Err(PeerError::Usage(format!("ping-pong: {a},{b} are not two different processors of {allowed:?}")));
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(PeerError::Missing("the C ping-pong reads the cycle counter of x86_64; run it on such a machine".to_owned()));
    }
    let temporary;
    let folder = match &options.build_dir {
        Some(folder) => folder,
        None => {
            temporary = Temporary::new()?;
            &temporary.0
        }
    };
    let program = compiled(folder)?;
    let mut command = Command::new(&program);
    command.args([a, b, options.rounds].map(|number| number.to_string()));
    let output = output(command).map_err(|error| PeerError::Failed(error.to_string()))?;
    if !output.status.success() {
        return Err(PeerError::Failed(format!("the C ping-pong failed: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    let values: Option<Vec<u64>> = String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().ok()).collect();
    match values {
        Some(values) if values.len() == options.rounds as usize => Ok(json!({ "unit": "cycles", "values": values }).to_string()),
        _ => Err(PeerError::Failed(format!("`{}` did not answer with {} numbers", program.display(), options.rounds))),
    }
}

/// The program, compiled unless the folder has it already. Its name tells its source, so an outdated one is
/// never used.
fn compiled(folder: &Path) -> Result<PathBuf, PeerError> {
    let failed = |what: &str, error| PeerError::Failed(format!("{what} in {}: {error}", folder.display()));
    let mut hash = DefaultHasher::new();
    SOURCE.hash(&mut hash);
    let program = folder.join(format!("ping-pong-{:016x}", hash.finish()));
    if program.exists() {
        return Ok(program);
    }
    std::fs::create_dir_all(folder).map_err(|error| failed("making a folder", error))?;
    // Another process may be doing the same: each builds under its own name, the last one's stays.
    let unfinished = folder.join(format!("ping-pong-{}", process::id()));
    let source = unfinished.with_extension("c");
    std::fs::write(&source, SOURCE).map_err(|error| failed("writing the source", error))?;
    let compiler = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-pthread", "-o"]).arg(&unfinished).arg(&source);
    let output = output(command);
    let _ = std::fs::remove_file(&source);
    let missing = |why: String| PeerError::Missing(format!("no C compiler that works ({why}); {COMPILER}"));
    let output = output.map_err(|error| missing(error.to_string()))?;
    if !output.status.success() {
        return Err(missing(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    std::fs::rename(&unfinished, &program).map_err(|error| failed("naming the program", error))?;
    Ok(program)
}

fn output(mut command: Command) -> Result<Output, Error> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Child::spawn(command, &[])?.output_within(PATIENCE)
}

/// A folder that is deleted when this is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Self, PeerError> {
        let path = std::env::temp_dir().join(format!("foregather-peers-{}", process::id()));
        // Must not exist yet: it could be another user's, with another program.
        std::fs::create_dir(&path).map_err(|error| PeerError::Failed(format!("making {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let options = Options::parse(&["--rounds", "7", "--build-dir", "here", "--cpus", "0,3"]).unwrap();
        assert_eq!(options, Options { cpus: (0, 3), rounds: 7, build_dir: Some("here".into()) });
    }

    #[test]
    fn wrong_options_are_named() {
        for (arguments, named) in [
            (&["--rounds", "7"][..], "--cpus"),
            (&["--cpus", "0", "--rounds", "7"], "`0`"),
            (&["--cpus", "0,1", "--rounds", "0"], "`0`"),
            (&["--cpus", "0,1", "--rounds"], "--rounds"),
            (&["--speed", "9"], "--speed 9"),
        ] {
            let error = Options::parse(arguments).unwrap_err();
            assert!(error.code() == 2 && error.to_string().contains(named), "{arguments:?}: {error}");
        }
    }
}
