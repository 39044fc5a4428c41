//! The `foregather` command: a thin front on the library beside it.
#![forbid(unsafe_code)]

use foregather_cli::{Cli, failure};
use foregather_lab::{verbs, worker};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(end) = worker::run_if_asked() {
        return end;
    }
    let cli = Cli::of_this_process();
    failure::exit_code(verbs::run(&cli))
}
