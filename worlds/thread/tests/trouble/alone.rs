//! Tests in processes of their own, under a watchdog.
use foregather_host::child::Child;
use foregather_machine::Nanos;
use std::any::type_name;
use std::process::{Command, Stdio};

/// No test here takes a second on a quiet machine, except one that waits until a quota is read again.
const LONG: Nanos = Nanos::from_ms(60_000);
/// The variable that tells a process which test to run.
const TEST: &str = "FOREGATHER_TEST_ALONE";

/// Runs the calling test's body in a process of its own; it fails if the body does, or hangs.
pub(crate) fn alone<F: FnOnce()>(body: F) {
    alone_while(&[], |_| {}, body);
}

/// [`alone`], in a process with these variables, to which this one does something `meanwhile`. The result of
/// that is dropped when the process has ended.
pub(crate) fn alone_while<F: FnOnce(), T>(variables: &[(&str, &str)], meanwhile: impl FnOnce(&Child) -> T, body: F) {
    // A closure's name contains that of its function, which is the test.
    let name = type_name::<F>().trim_end_matches("::{{closure}}").split_once("::").expect("a path").1;
    if std::env::var(TEST).is_ok_and(|test| test == name) {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(TEST, name).envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Child::spawn(command, &[]).unwrap();
    let kept = meanwhile(&child);
    let output = child.output_within(LONG).unwrap();
    drop(kept);
    let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && said.contains("1 passed"), "{name}: {}\n{said}{complained}", output.status);
    eprint!("{complained}");
}

/// Reports that this test cannot run here.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
