//! How the command ends: 0 well, 1 a check failed, 2 usage or bad input, 3 this machine cannot, 130
//! interrupted.
use foregather_host::interrupt;
use foregather_machine::{Cause, Error, shown};
use std::fmt;
use std::process::ExitCode;

/// An end that is not well, and not the caller's mistake either.
#[derive(Debug)]
pub enum Failure {
    /// A claim or a comparison was checked and does not hold.
    Check(String),
    /// This machine lacks what is needed; says what to install or to change.
    Machine(String),
    /// A job ended with that exit code; the job itself has said why.
    Job(u8),
    /// A program that was watched exited with that code, also after Ctrl-C.
    Program(u8),
    /// The user asked the program to stop; results so far are kept.
    Interrupted,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(what) | Self::Machine(what) => f.write_str(what),
            Self::Job(code) => write!(f, "the job exited with code {code}"),
            Self::Program(code) => write!(f, "the program exited with code {code}"),
            Self::Interrupted => f.write_str("interrupted; the results are partial"),
        }
    }
}

impl std::error::Error for Failure {}

/// Prints what went wrong, and chooses the exit code.
pub fn exit_code(end: anyhow::Result<()>) -> ExitCode {
    let Err(error) = end else { return ExitCode::SUCCESS };
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(broken_pipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(&Failure::Program(code)) = error.downcast_ref() {
        return ExitCode::from(code);
    }
    if !matches!(error.downcast_ref(), Some(Failure::Job(_))) {
        eprintln!("foregather: {}", sentence(&format!("{error:#}")));
    }
    if interrupt::requested() {
        return ExitCode::from(130);
    }
    let machine =
        error.downcast_ref::<Error>().is_some_and(|e| matches!(e.cause(), Cause::Unavailable { .. } | Cause::Os { .. }));
    ExitCode::from(match error.downcast_ref::<Failure>() {
        Some(Failure::Check(_)) => 1,
        Some(Failure::Machine(_)) => 3,
        Some(Failure::Interrupted) => 130,
        Some(&(Failure::Job(code) | Failure::Program(code))) => code,
        None if machine => 3,
        None => 2,
    })
}

/// The text as it may reach a terminal: characters that would steer one are shown, and only the first line
/// begins as one of ours.
fn sentence(text: &str) -> String {
    text.trim_end().lines().map(shown).collect::<Vec<_>>().join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forged_line_stands_apart_and_steers_no_terminal() {
        assert_eq!(sentence("no `a\u{1b}[2J`\n[1] fake\n"), "no `a\u{fffd}[2J`\n  [1] fake");
    }
}
