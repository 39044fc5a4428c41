//! The barriers of other projects, measured by this project's cells. Each cell runs in a process of its own,
//! so that no two runtimes meet in one. The result is one line of JSON on standard output.

mod blas;
mod blas_random;
mod blas_team;
mod cell;
mod member;
mod native;
mod openmp;
mod peer_error;
mod ping_pong;
mod roster;
mod runtime;
mod tasks;
mod teams;

use peer_error::PeerError;
use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage:
  foregather-peers list
  foregather-peers cell CELL                              CELL is the JSON of one cell of the barrier matrix
  foregather-peers list-teams
  foregather-peers team-cell CELL                         CELL is the JSON of one cell of `measure teams`
  foregather-peers list-openmp
  foregather-peers openmp-cell CELL                       CELL is the JSON of one cell of `measure openmp`
  foregather-peers end-cell CELL                          CELL is the JSON of one cell of `measure ends`
  foregather-peers list-blas
  foregather-peers blas-cell CELL                         CELL is the JSON of one cell of `measure blas`
  foregather-peers blas-random --ours FILE --reference FILE --handler FILE [OPTIONS]   for `cargo xtask peers blas-random`
  foregather-peers ping-pong --cpus A,B --rounds N [--build-dir DIR]";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let line = match arguments[..] {
        ["list"] => Ok(roster::list().to_string()),
        ["list-teams"] => Ok(teams::list().to_string()),
        ["team-cell", text] => teams::run(text),
        ["list-openmp"] => Ok(openmp::list().to_string()),
        ["openmp-cell", text] => openmp::run_cell(text),
        ["end-cell", text] => openmp::run_and_end(text),
        ["list-blas"] => Ok(blas::list().to_string()),
        ["blas-cell", text] => blas::run(text),
        ["blas-random", ref options @ ..] => blas_random::run(options),
        ["cell", text] => cell::run(text),
        ["ping-pong", ref options @ ..] => ping_pong::Options::parse(options).and_then(|options| ping_pong::run(&options)),
        ["help" | "--help" | "-h"] => Ok(USAGE.to_owned()),
        _ => Err(PeerError::Usage(USAGE.to_owned())),
    };
    let written = line.and_then(|line| {
        writeln!(std::io::stdout().lock(), "{line}").map_err(|error| PeerError::Failed(format!("writing the result: {error}")))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("foregather-peers: {error}");
            ExitCode::from(error.code())
        }
    }
}
