//! Small programs of Python, in a process of their own: what they measure is one line of JSON.
use foregather_host::child::Child;
use foregather_machine::Nanos;
use serde::de::DeserializeOwned;
use std::process::{Command, Stdio};

/// The interpreter, if another one than `python3` has the packages.
const PYTHON: &str = "FOREGATHER_PYTHON";

/// Runs `program` with one argument, and reads what it prints.
///
/// # Errors
/// If there is no interpreter, the program fails (its last line of complaint) or takes longer than `at_most`,
/// or prints something else.
pub fn run<T: DeserializeOwned>(program: &str, argument: &str, at_most: Nanos) -> Result<T, String> {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-c", program, argument]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = Child::spawn(command, &[]).and_then(|child| child.output_within(at_most));
    let output = output.map_err(|error| format!("{python}: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        let said = said(&output.stderr);
        return Err(said.lines().last().unwrap_or("the program of Python failed").to_owned());
    }
    serde_json::from_str(&said(&output.stdout)).map_err(|error| format!("{python}: {error}"))
}
