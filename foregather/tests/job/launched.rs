//! Ranks that are processes, under the launcher of `foregather run`.
use crate::programs::program;
use std::process::{Command, Output, Stdio};

/// Returns a command without the variables of another launcher that runs these tests.
fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    for (name, _) in std::env::vars() {
        if ["FOREGATHER_", "PMI_", "PMIX_", "OMPI_", "SLURM_"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a job of `size` ranks; returns its exit code and its output.
pub(crate) fn run(size: u32, case: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = command(&program("launcher"));
    command.envs([("TEST_SIZE", size.to_string()), ("TEST_CASE", case.to_owned())]).envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert_ne!(status.code(), Some(98), "{case}: {text}");
    (status.code(), text)
}

fn count(text: &str, line: &str) -> usize {
    text.matches(line).count()
}

#[test]
fn the_same_program_is_a_rank_and_the_launcher_says_of_how_many() {
    for size in [1, 2, 3] {
        let (code, text) = run(size, if size == 1 { "early exit" } else { "ring" }, &[]);
        assert_eq!(code, Some(0), "{text}");
        // A ring of one rank is not worth a launcher.
        for rank in (0..size).filter(|_| size > 1) {
            let before = (rank + size - 1) % size;
            assert_eq!(count(&text, &format!("ring [({rank}, {size}, {before}, 1, {size})]")), 1, "{text}");
        }
    }
}

#[test]
fn a_second_job_goes_on_with_the_first() {
    let (code, text) = run(3, "twice", &[]);
    assert_eq!((code, count(&text, "ring [(")), (Some(0), 6), "{text}");
    let (code, text) = run(3, "fails then works", &[]);
    assert_eq!((code, count(&text, "ring [(")), (Some(0), 3), "{text}");
    assert_eq!(count(&text, "first: rank 1 failed: "), 2, "{text}");
    assert_eq!(count(&text, "first: there is no rank 9"), 1, "{text}");
}

#[test]
fn a_job_within_a_job_is_refused() {
    let (code, text) = run(2, "nested", &[]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(count(&text, "within: Err(refused: this thread is a rank of a job already"), 2, "{text}");
    assert_eq!(count(&text, "beside: Err(refused: this process uses its job already"), 2, "{text}");
}

#[test]
fn a_process_that_ends_after_its_job_is_no_loss() {
    let (code, text) = run(3, "early exit", &[]);
    assert_eq!((code, count(&text, "has done more"), count(&text, "lost")), (Some(0), 3, 0), "{text}");
}

#[test]
fn launchers_can_be_switched_off_and_children_of_a_rank_are_alone() {
    let (code, text) = run(2, "alone", &[("FOREGATHER_LAUNCHER", "none")]);
    assert_eq!((code, count(&text, "alone [4, 4]")), (Some(0), 2), "{text}");
    let (code, text) = run(2, "children", &[]);
    assert_eq!((code, count(&text, "a child is rank Ok([(0, 1)])")), (Some(0), 1), "{text}");
}

#[test]
fn processes_that_wait_in_a_circle_are_told() {
    let (code, text) = run(3, "circle", &[]);
    assert_eq!((code, count(&text, "so none can go on")), (Some(1), 3), "{text}");
}

#[test]
fn a_rank_that_fails_is_blamed_and_the_job_fails_everywhere() {
    let left = "rank 1 has failed, panicked or left early";
    let closed = "rank 1 has left in order";
    for (case, heard, told, code) in [
        ("errs", left, "the job: rank 1 failed: there is no rank 9", 1),
        ("returns", closed, " failed: rank 1 has left in order", 1),
        ("panics", left, "the job: rank 1 ", 1),
    ] {
        let (ended, text) = run(3, case, &[]);
        assert!(ended == Some(code) || case == "panics" && ended == Some(5), "{case}: {ended:?} {text}");
        assert!(text.contains(heard) && text.contains(told), "{case}: {text}");
        assert_eq!(count(&text, "body 2: "), 1, "{case}: {text}");
        assert_eq!(count(&text, "the panic goes on"), usize::from(case == "panics"), "{text}");
    }
}

#[test]
fn a_process_that_dies_is_named_by_rank_wherever_it_dies() {
    for case in ["dies first", "dies in send", "dies in receive", "dies in barrier", "dies in sum"] {
        let (code, text) = run(3, case, &[]);
        assert_eq!(code, Some(134), "{case}: {text}");
        assert_eq!(count(&text, "the job: the process of rank 1 has died"), 2, "{case}: {text}");
        assert!(text.contains("rank 1 was killed by signal 6"), "{case}: {text}");
    }
    let (code, text) = run(3, "dies afterwards", &[]);
    assert_eq!(code, Some(134), "{text}");
    assert_eq!(count(&text, "the job: "), 0, "{text}");
}
