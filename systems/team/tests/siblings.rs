//! Processes of a launcher share the processors. Each case is a process of its own, with its own variables.
use foregather_team::{Allowed, Team};
use std::env;
use std::process::Command;
use std::thread::available_parallelism;

/// Returns the size of a default team in a process with these variables; those of this process's launcher are
/// removed.
fn members(variables: &[(&str, &str)]) -> u32 {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "case", "--ignored", "--nocapture"]);
    for (name, _) in env::vars() {
        if ["FOREGATHER_", "OMP_", "OMPI_", "MPI_", "SLURM_", "PYTEST_", "LOKY_"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(name);
        }
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("members ")).unwrap_or_else(|| panic!("{text}"));
    line.parse().unwrap()
}

#[test]
#[ignore = "a part of another test"]
fn case() {
    let allowed = Allowed::now();
    assert!(allowed.processors as usize >= available_parallelism().unwrap().get());
    assert_eq!(Team::fitting().allowed(), allowed);
    println!("\nmembers {}", allowed.members());
}

#[test]
fn a_default_team_is_a_share_and_a_wanted_one_is_not() {
    let alone = members(&[]);
    let many = [("MPI_LOCALRANKID", "3"), ("MPI_LOCALNRANKS", "10000")];
    let with = |more: &[(&'static str, &'static str)]| members(&[&many[..], more].concat());
    let shared = members(&many);
    // A process that is bound to some of the host's processors does not share them.
    assert!(shared == 1 || shared == alone, "{shared} of {alone}");
    assert_eq!(with(&[("FOREGATHER_SIBLINGS", "off")]), alone);
    assert_eq!(with(&[("OMP_NUM_THREADS", "2")]), alone.min(2));
    assert_eq!(members(&[("LOKY_MAX_CPU_COUNT", "1")]), 1);
    assert_eq!(members(&[("LOKY_MAX_CPU_COUNT", "1"), ("FOREGATHER_SIBLINGS", "off")]), alone);
    assert_eq!(members(&[("LOKY_MAX_CPU_COUNT", "1000000")]), alone);
}
