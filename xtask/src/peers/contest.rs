//! Builds SimGrid's driver, and runs it and ours in turn: what else the machine does meets all of them.
use super::outcome::{HEAD, Outcome, median, row};
use super::{Plan, Trouble};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Our simulator: Cargo says where it lies. It is not run by way of Cargo, whose own peak of memory it would inherit.
const OURS: [&str; 7] = ["bench", "--no-run", "--message-format=json", "--package", "foregather-bench", "--bench", "network"];
const DRIVER: &str = "peers/simgrid/butterfly.cpp";
const HEADER: &str = "simgrid/s4u.hpp";
/// A run that takes longer is ended, with an error.
const LIMIT: Duration = Duration::from_secs(600);
/// Between two looks at whether a run has ended.
const NAP: Duration = Duration::from_millis(10);

/// Somebody who takes part: a program, and what follows nodes and skew on its command line.
struct Contestant {
    name: &'static str,
    program: Vec<String>,
    model: Option<&'static str>,
}

/// The whole comparison, printed.
pub(super) fn hold(plan: &Plan) -> Result<(), Trouble> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask must lie in a workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place));
    let driver = build_driver(root, &target)?;
    let program = match &plan.ours {
        Some(program) => program.clone(),
        None => vec![build_ours(root)?],
    };
    let ours = |name, model| Contestant { name, program: program.clone(), model: Some(model) };
    let contestants = [
        Contestant { name: "SimGrid", program: vec![driver.display().to_string()], model: None },
        ours("ours, free", "free"),
        ours("ours, ports", "ports"),
    ];
    println!("{HEAD}");
    for &nodes in &plan.nodes {
        let medians = medians(root, plan, nodes, &contestants)?;
        for (contestant, of_one) in contestants.iter().zip(&medians) {
            println!("{}", row(nodes, plan.skew_us, contestant.name, *of_one, medians[0]));
        }
    }
    Ok(())
}

/// The median of every contestant. Every other round goes backwards, so that nobody always comes first.
fn medians(root: &Path, plan: &Plan, nodes: u32, contestants: &[Contestant]) -> Result<Vec<Outcome>> {
    let mut runs = vec![Vec::new(); contestants.len()];
    for round in 0..plan.rounds {
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let who = &contestants[at];
            let (program, given) = who.program.split_first().context("no program")?;
            let mut command = Command::new(program);
            command.args(given).args([nodes.to_string(), plan.skew_us.to_string()]).args(who.model).current_dir(root);
            let printed = output_within(&mut command, LIMIT).with_context(|| format!("{}, {nodes} nodes", who.name))?;
            let line = printed.lines().last().unwrap_or_default();
            runs[at].push(Outcome::parse(line, nodes, plan.skew_us).with_context(|| who.name)?);
        }
    }
    runs.iter().map(|runs| median(runs).context("no round was run")).collect()
}

/// Compiles the driver into `target/`.
fn build_driver(root: &Path, target: &Path) -> Result<PathBuf, Trouble> {
    let missing = |what: &str| {
        Trouble::Missing(format!("{what} is not installed: on Debian `apt-get install g++ libsimgrid-dev`, then again"))
    };
    let mut look = Command::new("g++");
    look.args(["-std=c++17", "-E", "-x", "c++", "-include", HEADER, "/dev/null"]).stdout(Stdio::null()).stderr(Stdio::null());
    match look.status() {
        Err(_) => return Err(missing("g++")),
        Ok(status) if !status.success() => return Err(missing("SimGrid (libsimgrid-dev)")),
        Ok(_) => {}
    }
    std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let driver = target.join("simgrid-butterfly");
    let mut compile = Command::new("g++");
    compile.args(["-O2", "-std=c++17", "-Wall", "-Wextra", "-o"]).arg(&driver).arg(root.join(DRIVER)).arg("-lsimgrid");
    let status = compile.status().context("cannot run g++")?;
    if status.success() { Ok(driver) } else { Err(anyhow!("{DRIVER} does not compile with the SimGrid of this machine").into()) }
}

fn build_ours(root: &Path) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let built = command.args(OURS).current_dir(root).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(built.status.success(), "our own simulator does not build: `cargo {}`", OURS.join(" "));
    executable(&String::from_utf8_lossy(&built.stdout)).context("cargo names no program that it has built")
}

/// The program that Cargo's messages name last.
pub(super) fn executable(messages: &str) -> Option<String> {
    let (_, after) = messages.rsplit_once("\"executable\":\"")?;
    Some(after.split_once('"')?.0.to_owned())
}

/// What a program prints, which is little: it is read when the program has ended.
pub(super) fn output_within(command: &mut Command, limit: Duration) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{program}`"))?;
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("`{program}` was ended after {} s: ask for less", limit.as_secs());
        }
        std::thread::sleep(NAP);
    };
    ensure!(status.success(), "`{program}` failed: {status}");
    let mut printed = String::new();
    child.stdout.take().context("no standard output")?.read_to_string(&mut printed)?;
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_prints_is_returned_and_failures_are_errors() {
        assert_eq!(output_within(&mut shell("echo a; echo b"), LIMIT).unwrap(), "a\nb\n");
        let error = |script| output_within(&mut shell(script), LIMIT).unwrap_err().to_string();
        assert!(error("exit 7").contains('7'), "{}", error("exit 7"));
        let error = output_within(&mut Command::new("no-such-program"), LIMIT).unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }

    #[test]
    fn cargo_says_where_our_program_lies() {
        let message = |program: &str| format!("{{\"target\":{{}},\"executable\":{program},\"fresh\":true}}\n");
        let messages = [message("null"), message("\"/a/network-1\""), message("null")].concat();
        assert_eq!(executable(&messages).as_deref(), Some("/a/network-1"));
        assert_eq!(executable(&message("null")), None);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let error = output_within(&mut shell("exec sleep 1000"), NAP).unwrap_err().to_string();
        assert!(error.contains("was ended"), "{error}");
    }

    #[test]
    fn every_contestant_is_asked_the_same_and_held_to_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let plan = Plan { nodes: vec![4], skew_us: 1, rounds: 3, ours: None };
        let says = |messages: u32| {
            let line = format!(r#"{{"nodes":%s,"messages":{messages},"messages_per_s":5,"rss_mib":2,"skew_us":%s}}"#);
            let script = format!(r#"printf '{line}\n' "$1" "$2""#);
            let program = ["sh", "-c", &script, "name"].map(str::to_owned).to_vec();
            Contestant { name: "somebody", program, model: None }
        };
        let found = medians(root, &plan, 4, &[says(8), says(8)]).unwrap();
        assert_eq!(found, [Outcome { messages_per_s: 5.0, rss_mib: 2.0 }; 2]);
        let error = format!("{:#}", medians(root, &plan, 4, &[says(8), says(9)]).unwrap_err());
        assert!(error.contains("somebody") && error.contains("messages should be 8"), "{error}");
    }
}
