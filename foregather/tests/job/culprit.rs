//! The launcher names the rank that failed first and returns its exit code, however it failed and however
//! long it takes to exit.
use crate::launched::run;

/// Returns the number of rounds of each way to fail.
fn rounds() -> u32 {
    std::env::var("FOREGATHER_SOAK").map_or(4, |rounds| rounds.parse().unwrap())
}

#[test]
fn the_first_that_failed_is_named_and_its_code_returned() {
    for (how, code, said) in [
        ("panics", 101, "exited with code 101"),
        ("errs", 9, "exited with code 9"),
        ("exits", 7, "exited with code 7"),
        ("aborts", 134, "was killed by signal 6 (SIGABRT)"),
        ("is killed", 137, "was killed by signal 9 (SIGKILL)"),
    ] {
        let mut wrong = Vec::new();
        for round in 0..rounds() {
            let culprit = (round % 3).to_string();
            let (ended, text) = run(3, &format!("culprit {how}"), &[("TEST_CULPRIT", &culprit)]);
            let last = text.lines().rfind(|line| line.starts_with("foregather: rank ")).unwrap_or_default().to_owned();
            if ended != Some(code) || last != format!("foregather: rank {culprit} {said}") {
                wrong.push((ended, last));
            }
        }
        println!("{how}: {} of {} right", rounds() as usize - wrong.len(), rounds());
        assert_eq!(wrong, [], "{how}");
    }
}
