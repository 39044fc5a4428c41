//! What contests share: options, programs, medians.
use crate::PeerError;
use anyhow::{Context, Result, ensure};
use foregather_host::child::Child;
use foregather_machine::Nanos;
use foregather_results::{Measurement, Run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of a contest, each with its value.
pub(super) fn options<'o>(words: &[&'o str]) -> Result<Vec<(&'o str, &'o str)>, PeerError> {
    let option = |words: &[&'o str]| match *words {
        [name, value] => Ok((name, value)),
        _ => Err(PeerError::Usage(format!("`{}` needs a value", words[0]))),
    };
    words.chunks(2).map(option).collect()
}

/// An option that there is not.
pub(super) fn unknown<T>(name: &str) -> Result<T, PeerError> {
    Err(PeerError::Usage(format!("no option `{name}`")))
}

pub(super) fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, PeerError> {
    value.parse().map_err(|_| PeerError::Usage(format!("{name}: `{value}` is not a whole number that fits")))
}

/// Numbers that are separated by commas.
pub(super) fn numbers<T: std::str::FromStr>(name: &str, value: &str) -> Result<Vec<T>, PeerError> {
    value.split(',').map(|value| number(name, value)).collect()
}

/// The folder of the repository.
pub(super) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("peers lies in a workspace")
}

/// The folder in which Cargo builds.
pub(super) fn target() -> Result<PathBuf> {
    Ok(root()?.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())))
}

/// What Cargo builds by these arguments.
pub(super) fn built(arguments: &[&str]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let built = command.args(arguments).current_dir(root()?).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(built.status.success(), "it does not build: `cargo {}`", arguments.join(" "));
    Ok(executable(&String::from_utf8_lossy(&built.stdout)).context("cargo names no program that it has built")?.into())
}

/// The program that Cargo's messages name last.
fn executable(messages: &str) -> Option<String> {
    let (_, after) = messages.rsplit_once("\"executable\":\"")?;
    Some(after.split_once('"')?.0.to_owned())
}

/// What a program prints.
pub(super) fn output_within(mut command: Command, limit: Nanos) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdout(Stdio::piped());
    let child = Child::spawn(command, &[]).with_context(|| format!("cannot start `{program}`"))?;
    let output = child.output_within(limit).with_context(|| format!("`{program}` was ended: ask for less"))?;
    ensure!(output.status.success(), "`{program}` failed: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The order in which contestants take their turns: every other round goes backwards, so that none always
/// comes first.
pub(super) fn turns(round: u32, count: usize) -> Vec<usize> {
    if round % 2 == 1 { (0..count).rev().collect() } else { (0..count).collect() }
}

/// Writes comparisons as results, from which `foregather report` makes a table.
pub(super) fn keep(place: Option<&Path>, run: Run, compared: Vec<Measurement>) -> Result<()> {
    let Some(place) = place else { return Ok(()) };
    Ok(run.end(false, compared, vec![], vec![]).write(place)?)
}

/// The median, the lower one of two.
pub(super) fn middle(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Nanos = Nanos::from_ms(60_000);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_prints_is_returned_and_failures_are_errors() {
        assert_eq!(output_within(shell("echo a; echo b"), LIMIT).unwrap(), "a\nb\n");
        let error = |script| output_within(shell(script), LIMIT).unwrap_err().to_string();
        assert!(error("exit 7").contains('7'), "{}", error("exit 7"));
        let error = output_within(Command::new("no-such-program"), LIMIT).unwrap_err().to_string();
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
        let error = output_within(shell("exec sleep 1000"), Nanos::from_ms(10)).unwrap_err().to_string();
        assert!(error.contains("was ended"), "{error}");
    }
}
