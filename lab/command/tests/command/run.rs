//! `run`: what it prints, how it ends, and what it refuses.
use crate::{foregather, run, scratch, stderr};

#[test]
fn each_line_says_whose_it_is_and_both_streams_stay_apart() {
    let output = run(&["run", "-n", "3", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] out", "[1] out", "[2] out"]);
    assert!(stderr(&output).contains("[2] err\n") && !stderr(&output).contains("foregather:"), "{}", stderr(&output));
    let output = run(&["run", "-n", "2", "--no-prefix", "sh", "-c", "echo $FOREGATHER_SIZE"]);
    assert_eq!(output.stdout, b"2\n2\n");
}

#[test]
fn it_ends_as_the_first_rank_that_fails() {
    let output = run(&["run", "-n", "2", "--", "sh", "-c", "[ $FOREGATHER_RANK = 0 ] || exit 42"]);
    assert_eq!(output.status.code(), Some(42));
    assert_eq!(stderr(&output), "foregather: rank 1 exited with code 42\n");
    let output = run(&["run", "-n", "1", "--", "sh", "-c", "kill -SEGV $$"]);
    assert_eq!(output.status.code(), Some(128 + 11));
    assert!(stderr(&output).contains("SIGSEGV"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_started_is_named() {
    let output = run(&["run", "-n", "2", "--", "no-such-program"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no-such-program"), "{}", stderr(&output));
    for (program, said) in
        [("", "name is empty"), ("/", "`/` is a directory: name a program"), ("/proc/version", "may not be executed")]
    {
        let output = run(&["run", "-n", "2", "--", program]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    let hosts = scratch("hosts");
    std::fs::write(&hosts, "n1 slots=two\n").unwrap();
    let hosts = hosts.to_str().unwrap();
    for (args, said) in [
        (&["run", "-n", "0", "--", "true"][..], "0"),
        (&["run", "--", "true"], "-n N"),
        (&["run", "-n", "2", "--fabric", "pigeons", "--", "true"], "ofi:PROVIDER"),
        (&["run", "--hosts", hosts, "--", "true"], "line 1"),
        (&["run", "-n", "2"], "PROGRAM"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

/// A script stands for the remote shell: it leaves the host's name out.
#[test]
fn ranks_elsewhere_are_told_by_standard_input() {
    let hosts = scratch("elsewhere");
    let shell = scratch("to-another-host");
    std::fs::write(&shell, "shift\nexec \"$@\"\n").unwrap();
    std::fs::write(&hosts, "there slots=2\n").unwrap();
    let shell = format!("sh {}", shell.display());
    let program = "echo $FOREGATHER_RANK of $FOREGATHER_SIZE $FOREGATHER_FABRIC $1; exit $FOREGATHER_RANK";
    let output = run(&[
        "run",
        "--hosts",
        hosts.to_str().unwrap(),
        "--rsh",
        &shell,
        "--fabric",
        "ofi",
        "--",
        "sh",
        "-c",
        program,
        "x",
        "it's",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] 0 of 2 ofi it's", "[1] 1 of 2 ofi it's"]);
}

#[test]
fn a_full_disk_is_told_of() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = foregather(&["run", "-n", "2", "--", "echo", "hello"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("what the ranks print cannot be written: No space left on device"), "{}", stderr(&output));
}

#[test]
fn a_record_needs_a_place_and_a_program_that_is_a_rank() {
    let place = scratch("nothing.goal");
    let place = place.to_str().unwrap();
    let output = run(&["run", "-n", "2", "--record", place, "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("rank 0 recorded nothing") && stderr(&output).contains("foregather::job"),
        "{}",
        stderr(&output)
    );
    for nowhere in ["/no/such/folder/job.goal", "/"] {
        let output = run(&["run", "-n", "2", "--record", nowhere, "--", "true"]);
        assert_ne!(output.status.code(), Some(0));
        assert!(stderr(&output).contains("cannot write the record"), "{}", stderr(&output));
    }
    assert_eq!(run(&["run", "-n", "1", "--record", place, "--", "false"]).status.code(), Some(1));
    assert!(!std::path::Path::new(place).exists());
}
