//! Bad input ends with a clear message and the right code, never with a panic.
use crate::simulate::{SMALL, plan};
use crate::{foregather, json, run, scratch, stderr};
use foregather_host::sched;

#[track_caller]
fn refused(args: &[&str], code: i32, says: &str) {
    let output = run(args);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(said.contains(says), "{args:?} should say `{says}`: {said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn usage_is_explained() {
    refused(&["frobnicate"], 2, "unrecognized subcommand");
    refused(&["measure", "barriers", "--ms", "0"], 2, "0");
    refused(&["measure", "barriers", "--quick", "--full"], 2, "cannot be used with");
    refused(&["measure", "barriers", "--rows", "17t"], 2, "no row is named like");
    refused(&["measure", "barriers", "--waiters", "central/spinn"], 2, "not a waiting policy");
    refused(&["measure", "barriers", "--validate", "--rows", "V9"], 2, "there are V1 to V8");
    refused(&["measure", "barriers", "--check"], 2, "--validate");
    refused(&["measure", "barriers", "--validate", "--quick"], 2, "cannot be used with");
    refused(&["man", "--format", "csv"], 2, "leave it out");
    refused(&["--format", "json", "run", "-n", "1", "--", "true"], 2, "leave it out");
    refused(&["simulate", "nope"], 2, "no plan `nope` is shipped");
    refused(&["reproduce", "nobody1999"], 2, "guignon2000");
    refused(&["reproduce", "guignon2000", "fig7"], 2, "ping-pong");
}

#[test]
fn files_that_are_no_results_are_named() {
    refused(&["report", "/no/such/file.json"], 2, "/no/such/file.json");
    for (name, text) in
        [("empty.json", ""), ("broken.json", "{\"schema\": \"foregather.res"), ("other.json", "{\"schema\": \"other/9\"}")]
    {
        let path = scratch(name);
        std::fs::write(&path, text).unwrap();
        refused(&["report", path.to_str().unwrap()], 2, name);
        refused(&["compare", path.to_str().unwrap(), path.to_str().unwrap()], 2, name);
    }
}

/// What a file says is shown in errors, but does not steer the terminal.
#[test]
fn foreign_text_steers_no_terminal() {
    let path = scratch("hostile.json");
    let evil = "\u{1b}[2J\n[1] fake line";
    let key = serde_json::to_string(evil).unwrap();
    std::fs::write(&path, format!("{{\"schema\": \"foregather.results/1\", {key}: 1}}")).unwrap();
    let path = path.to_str().unwrap();
    let plan = plan("hostile.toml", &format!("title = {key}\n{key} = 1\n"));
    let missing = format!("/no/such/{evil}");
    for args in [&["report", path][..], &["compare", path, path], &["simulate", &plan], &["report", &missing]] {
        let output = run(args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("fake line") && !said.contains('\u{1b}') && !said.contains("\n[1]"), "{args:?}: {said:?}");
    }
}

#[test]
fn a_comparison_of_long_and_hostile_names_is_shown_and_does_not_panic() {
    let path = scratch("long-names.json");
    let mut document = json(&run(&["simulate", &plan("long-names.toml", SMALL), "--format", "json"]));
    document["measurements"][0]["id"] = "x".repeat(66_000).into();
    document["noise"]["verdict"] = "noisy".into();
    document["noise"]["facts"] = vec!["\u{1b}[2J"].into();
    std::fs::write(&path, document.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let output = run(&["compare", path, path]);
    let (out, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
    assert!(output.status.success() && out.contains("x\u{2026}") && out.lines().all(|line| line.chars().count() < 700), "{said}");
    assert!(said.contains("[2J") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        foregather(&["man"]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

/// Spinners and hogs under FIFO would starve the program that wants to stop them.
#[test]
fn nothing_is_measured_under_a_realtime_class() {
    let output = std::thread::spawn(|| {
        sched::set_class(sched::SchedClass::Fifo, 1).is_ok().then(|| run(&["measure", "barriers", "--quick"]))
    });
    let Some(output) = output.join().unwrap() else {
        return eprintln!("skipped: this user may not run under FIFO");
    };
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("SCHED_OTHER"), "{}", stderr(&output));
}
