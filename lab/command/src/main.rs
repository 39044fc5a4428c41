//! The `foregather` command: a thin front on the library beside it.
#![forbid(unsafe_code)]

use foregather_lab::cli::Cli;
use foregather_lab::{verbs, worker};
use foregather_results::failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(end) = worker::run_if_asked() {
        return end;
    }
    let cli = Cli::of_this_process();
    failure::exit_code(verbs::run(&cli))
}
