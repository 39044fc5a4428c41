//! The programs that take part: whether each is installed, and how it is run: pinned, bounded, and never
//! under a real-time class.
use super::{MessageContest, PATTERNS, Sample};
use crate::PeerError;
use crate::contrast::OURS;
use crate::support::{built, output_within};
use anyhow::{Context, Result};
use foregather_machine::Nanos;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A run that takes longer is ended: first asked to, so that launchers end their ranks, and killed soon
/// afterwards.
const LIMIT_S: u32 = 240;
const LIMIT: Nanos = Nanos::from_ms((LIMIT_S as u64 + 20) * 1_000);
/// How often a client tries to reach its server, and how long it waits in between.
const TRIES: (u32, Duration) = (40, Duration::from_millis(100));
/// As long as ours.
const BATCH_MS: &str = "5";
const MPI: &str = "peers/c/mpi_messages.c";

/// How a contestant is run.
enum RunMode {
    /// `foregather`, from there.
    Ours(PathBuf),
    /// The program in peers/c, behind its launcher.
    Mpi(Vec<String>),
    Ucx,
    Libfabric,
    /// Prints what the programs in peers/c print.
    #[cfg(test)]
    Script(String),
}

/// A program that takes part.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    /// Once, and so it is left out.
    pub(super) failed: bool,
    kind: RunMode,
}

/// Ours, newly built.
pub(super) fn ours() -> Result<Contestant> {
    Ok(Contestant { name: "ours", failed: false, kind: RunMode::Ours(built(&OURS)?) })
}

/// The peer of that name, compiled if need be.
pub(super) fn peer(name: &'static str, root: &Path, target: &Path) -> Result<Contestant, PeerError> {
    let needs = |programs: &[&str], packages: &str| match programs.iter().find(|program| !installed(program)) {
        Some(program) => {
            let what = format!("{name}: `{program}` is not installed: on Debian `apt-get install {packages}`");
            Err(PeerError::Missing(what))
        }
        None => Ok(()),
    };
    needs(&["taskset", "timeout"], "util-linux coreutils")?;
    let kind = match name {
        "openmpi" | "mpich" => {
            let open = name == "openmpi";
            let packages = if open { "openmpi-bin libopenmpi-dev" } else { "mpich libmpich-dev" };
            let compiler = if open { "mpicc.openmpi" } else { "mpicc.mpich" };
            let launcher: &[&str] = if open {
                &["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-n", "2"]
            } else {
                &["mpiexec.hydra", "-bind-to", "none", "-n", "2"]
            };
            needs(&[compiler, launcher[0]], packages)?;
            let program = compile(compiler, root, target, name, packages)?;
            let launched = launcher.iter().map(|word| (*word).to_owned());
            RunMode::Mpi(launched.chain([program.to_string_lossy().into_owned()]).collect())
        }
        "ucx" => {
            needs(&["ucx_perftest"], "ucx-utils")?;
            RunMode::Ucx
        }
        _ => {
            needs(&["fi_pingpong"], "libfabric-bin")?;
            RunMode::Libfabric
        }
    };
    Ok(Contestant { name, failed: false, kind })
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn compile(compiler: &str, root: &Path, target: &Path, name: &str, packages: &str) -> Result<PathBuf, PeerError> {
    std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let program = target.join(format!("mpi-messages-{name}"));
    let mut command = Command::new(compiler);
    let built = command.args(["-O2", "-o"]).arg(&program).arg(root.join(MPI)).output().context("cannot run the compiler")?;
    if built.status.success() {
        return Ok(program);
    }
    let said = String::from_utf8_lossy(&built.stderr).lines().next().unwrap_or_default().to_owned();
    Err(PeerError::Missing(format!("{name}: {MPI} does not compile ({said}): on Debian `apt-get install {packages}`")))
}

/// A command that ends in time, on these processors.
fn bounded(cpus: &str, words: &[String]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", &LIMIT_S.to_string(), "taskset", "-c", cpus]).args(words);
    command.stdin(Stdio::null());
    command
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

impl Contestant {
    #[cfg(test)]
    pub(super) fn script(name: &'static str, script: &str) -> Self {
        Self { name, failed: false, kind: RunMode::Script(script.to_owned()) }
    }

    /// Runs it once for all lengths.
    pub(super) fn run(&self, ask: &MessageContest) -> Result<Vec<Sample>> {
        let list = |separator: &str| ask.sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(separator);
        let [a, b] = ask.cpus.map(|cpu| cpu.to_string());
        let both = format!("{a},{b}");
        match &self.kind {
            RunMode::Ours(program) => {
                let program = program.to_string_lossy();
                let (sizes, batches) = (list(","), ask.batches.to_string());
                let options = ["measure", "messages", "--only", "sizes", "--ways", "chosen", "--format", "json", "--quiet"];
                let given = ["--sizes", &sizes, "--batches", &batches];
                let all = [&[program.as_ref()], &options[..], &given[..]].concat();
                let mut command = bounded(&both, &words(&all));
                command.stderr(Stdio::null());
                super::of_results(&output_within(command, LIMIT)?)
            }
            RunMode::Mpi(launched) => {
                let mut all = launched.clone();
                all.extend([a, b, ask.batches.to_string(), BATCH_MS.to_owned()]);
                all.extend(ask.sizes.iter().map(usize::to_string));
                super::of_lines(&output_within(bounded(&both, &all), LIMIT)?)
            }
            RunMode::Ucx => {
                let one = |(bytes, pattern): (usize, &'static str)| {
                    let test = if pattern == "stream" { "tag_bw" } else { "tag_lat" };
                    let rounds = rounds(bytes);
                    let (size, many, warm) = (bytes.to_string(), rounds.to_string(), (rounds / 8).to_string());
                    let common = words(&["ucx_perftest", "-t", test, "-s", &size, "-n", &many, "-w", &warm, "-v"]);
                    super::of_ucx(&served(ask, &common, "-p", "-p")?, bytes, pattern)
                };
                // It has no test of both ways.
                let patterns = || PATTERNS.into_iter().filter(|&pattern| pattern != "both-ways");
                ask.sizes.iter().flat_map(|&bytes| patterns().map(move |pattern| (bytes, pattern))).map(one).collect()
            }
            RunMode::Libfabric => {
                let one = |&bytes: &usize| {
                    let (size, many) = (bytes.to_string(), rounds(bytes).to_string());
                    let common = words(&["fi_pingpong", "-p", "shm", "-e", "rdm", "-m", "tagged", "-I", &many, "-S", &size]);
                    super::of_fi_pingpong(&served(ask, &common, "-B", "-P")?, bytes)
                };
                ask.sizes.iter().map(one).collect()
            }
            #[cfg(test)]
            RunMode::Script(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                super::of_lines(&output_within(command, LIMIT)?)
            }
        }
    }
}

/// Round trips of one measurement: they take some milliseconds together, long enough to be no guess.
fn rounds(bytes: usize) -> usize {
    ((256 << 20) / bytes).clamp(100, 50_000)
}

/// Runs a server and its client, each on its processor; what the client prints.
fn served(ask: &MessageContest, common: &[String], server_port: &str, client_port: &str) -> Result<String> {
    let [here, there] = ask.cpus.map(|cpu| cpu.to_string());
    // One of its own for each pair: those of the last may linger.
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let port = (20_000 + (std::process::id() * 97 + next) % 12_000).to_string();
    let command = |cpu: &str, option: &str| {
        let mut command = bounded(cpu, common);
        command.args([option, &port]).env("UCX_TLS", "sm,self").env("UCX_LOG_LEVEL", "error").stderr(Stdio::null());
        command
    };
    let server = command(&here, server_port).stdout(Stdio::null()).spawn().context("cannot start a server")?;
    let _server = ServerProcess(server);
    let mut last = None;
    for _ in 0..TRIES.0 {
        std::thread::sleep(TRIES.1);
        let mut client = command(&there, client_port);
        client.arg("127.0.0.1");
        match output_within(client, LIMIT) {
            Ok(printed) => return Ok(printed),
            Err(error) => last = Some(error),
        }
    }
    Err(last.context("no try was made")?)
}

/// Ended by the end of its client, or here.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        for _ in 0..TRIES.0 {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(TRIES.1 / 4);
        }
        // `timeout` passes a plain request on to the server, but not a kill: so it is asked.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_said_with_its_packages() {
        assert!(installed("sh") && !installed("no-such-program"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let end = compile("false", root, &std::env::temp_dir(), "mpich", "mpich libmpich-dev");
        match end {
            Err(PeerError::Missing(what)) => assert!(what.contains("apt-get install mpich libmpich-dev"), "{what}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn long_messages_go_less_often() {
        assert_eq!([8, 65_536, 16 << 20].map(rounds), [50_000, 4_096, 100]);
    }
}
