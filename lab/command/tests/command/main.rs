//! The command from outside: what it prints, how it ends, and that nothing is left behind.
mod advise;
mod app;
mod bad_input;
mod bytes;
mod dsm;
mod exec;
mod explain;
mod hang;
mod interrupted;
mod messages;
mod outputs;
mod regret;
mod run;
mod simulate;
mod terminal;
mod top;
mod validate;
mod verbs;

use std::process::{Command, Output, Stdio};

/// The command, keeping the machine's costs, and what it writes where it stands, in the folder of this test
/// run.
fn foregather(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foregather"));
    command.args(args).stdin(Stdio::null()).env("FOREGATHER_MACHINE", scratch("machine.json"));
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command
}

fn run(args: &[&str]) -> Output {
    foregather(args).output().expect("the command starts")
}

fn scratch(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("standard output is JSON")
}

/// Holds a document against a schema of the repository.
fn validate(document: &serde_json::Value, schema: &str) {
    let path = format!("{}/../results/schema/{schema}", env!("CARGO_MANIFEST_DIR"));
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = compiler.compile(&path, &mut schemas).expect("the schema is a schema");
    if let Err(error) = schemas.validate(document, schema) {
        panic!("{error:#}");
    }
}
