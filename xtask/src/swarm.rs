//! The seeded swarm, built with optimisation and with its points counted; what it can be asked for it says itself.
use std::process::{Command, ExitCode};

const PACKAGE: [&str; 7] = ["run", "--release", "--quiet", "-p", "foregather-swarm", "--features", "probes"];

/// What follows `cargo xtask swarm`.
pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ended = Command::new(cargo).args(PACKAGE).arg("--").args(arguments).status();
    match ended {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("xtask swarm: cargo cannot be started: {error}");
            ExitCode::from(2)
        }
    }
}
