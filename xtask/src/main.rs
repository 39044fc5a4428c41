//! The chores of this house: `cargo xtask tidy` keeps its style, `cargo xtask claims` its faith to the papers, and
//! `cargo xtask peers` runs other people's simulators and messages beside ours, `cargo xtask regret` says which rows of the barrier
//! matrix a change made worse, and `cargo xtask kill` strikes jobs at random moments;
//! `cargo xtask swarm` runs seeds by the thousand in virtual time.
//!
//! One of the first two is a function from a [`Tree`](tree::Tree) of files to [`Violation`](violation::Violation)s, so every rule is
//! tested on a few lines in memory; only this file touches the disk and the exit code.
#![forbid(unsafe_code)]

mod claims;
mod examples;
mod kill;
mod mutants;
mod peers;
mod regret;
mod source;
mod swarm;
mod tidy;
mod tree;
mod violation;

use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
The chores of this repository.

  cargo xtask tidy        style of the house: lengths, arrows, unsafe, worlds, wording, names, links, races
  cargo xtask tidy words  of these names and prose alone: no old word, no type's name with many meanings, no person
  cargo xtask claims      papers/*.toml are well formed and every claim has an experiment; prints the coverage
  cargo xtask peers       other people's work beside ours, in the same run; `cargo xtask peers help` says how
  cargo xtask examples    the programs of examples/, each with exactly the features that it names
  cargo xtask regret      a run of the barrier matrix against a stored one; `cargo xtask regret help` says how
  cargo xtask mutants     do the verdicts notice a changed constant? `cargo xtask mutants help` says how
  cargo xtask kill        ranks and launchers killed and stopped at random moments; `cargo xtask kill help` says how
  cargo xtask swarm       seeds of all protocols in virtual time, planted faults among them; `cargo xtask swarm help` says how
  cargo xtask help        this text

Exit codes: 0 all is well, 1 there are violations (one a line on stdout) or worse rows, 2 wrong usage or unreadable files,
3 (peers) something is not installed.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chore: fn(&tree::Tree) -> (Vec<violation::Violation>, String) = match words[..] {
        ["tidy"] => tidy::run,
        ["tidy", "words"] => tidy::run_words,
        ["claims"] => claims::run,
        ["peers", "help" | "--help" | "-h"] => {
            println!("{}", peers::HELP);
            return ExitCode::SUCCESS;
        }
        ["examples", "help" | "--help" | "-h"] => {
            println!("{}", examples::HELP);
            return ExitCode::SUCCESS;
        }
        ["examples", ref names @ ..] => {
            return match examples::run(names) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("xtask: {error:#}");
                    ExitCode::FAILURE
                }
            };
        }
        ["kill", "help" | "--help" | "-h"] => {
            println!("{}", kill::HELP);
            return ExitCode::SUCCESS;
        }
        ["kill", ref arguments @ ..] => return kill::run(arguments),
        ["swarm", ref arguments @ ..] => return swarm::run(arguments),
        ["regret", "help" | "--help" | "-h"] => {
            println!("{}", regret::HELP);
            return ExitCode::SUCCESS;
        }
        ["mutants", "help" | "--help" | "-h"] => {
            println!("{}", mutants::HELP);
            return ExitCode::SUCCESS;
        }
        ["mutants", ref arguments @ ..] => return mutants::run(arguments),
        ["regret", ref arguments @ ..] => return regret::run(arguments),
        ["peers", ref arguments @ ..] => return peers::run(arguments),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("xtask: expected one chore, got `{}`\n\n{HELP}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match tree::Tree::of_workspace() {
        Ok(tree) => report(chore(&tree)),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn report((violations, summary): (Vec<violation::Violation>, String)) -> ExitCode {
    let lines: String = violations.iter().map(|violation| format!("{violation}\n")).collect();
    // A reader that has seen enough, like `head`, closes the pipe: that is no error of ours.
    std::io::stdout().write_all(format!("{lines}{summary}\n").as_bytes()).ok();
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
