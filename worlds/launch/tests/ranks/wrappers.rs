//! Wrappers between the launcher and a rank that close descriptors, clear variables or hide `/proc`: the
//! process still is the rank, or prints why it cannot be. Processes that a rank starts itself run outside the
//! job.
use crate::own::{launcher, run, shell};
use crate::{count, end, program, text};
use std::process::Command;

#[test]
fn a_rank_whose_wrapper_closes_all_descriptors_is_a_rank() {
    let output = run(3, "closes_descriptors", &[]);
    let text = text(&output);
    assert_eq!((output.status.code(), count(&text, "of 3, 3 here: sum 6")), (Some(0), 3), "{text}");
}

#[test]
fn a_rank_whose_wrapper_clears_its_variables_fails_loudly() {
    let cleared = shell(&format!("exec env -i {}", program("greets").join(" ")));
    let output = end(launcher(2, &cleared, &[]));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("was started as rank ") && text.contains("env -i") && !text.contains("sum"), "{text}");
    assert!(text.contains("FOREGATHER_LAUNCHER=none"), "{text}");
}

#[test]
fn a_rank_that_may_be_alone_is() {
    for alone in ["env -i FOREGATHER_LAUNCHER=none", "env FOREGATHER_LAUNCHER=none"] {
        let words = shell(&format!("exec {alone} {}", program("greets").join(" ")));
        let output = end(launcher(2, &words, &[]));
        let text = text(&output);
        assert_eq!((output.status.code(), count(&text, "of 1, 1 here: sum 1")), (Some(0), 2), "{text}");
    }
}

#[test]
fn what_a_rank_starts_is_alone_with_its_variables_and_without() {
    for cleared in ["", "env -i"] {
        let output = run(2, "has_a_rank_within", &[("TEST_WRAPPER", cleared)]);
        let text = text(&output);
        assert_eq!((output.status.code(), count(&text, "of 2, 2 here: sum 3")), (Some(0), 2), "{cleared}: {text}");
        assert_eq!(count(&text, "of 1, 1 here: sum 1"), 2, "{cleared}: {text}");
    }
}

#[test]
fn without_proc_a_rank_says_what_to_mount() {
    let hides = "mount -t tmpfs none /proc";
    if !Command::new("unshare").args(["-m", "sh", "-c", hides]).status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no mount namespaces here");
    }
    let words = shell(&format!("exec unshare -m sh -c '{hides}; exec {}'", program("greets").join(" ")));
    let output = end(launcher(2, &words, &[]));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("mount /proc") && !text.contains("sum") && !text.contains("ulimit"), "{text}");
}

#[test]
fn a_program_in_a_pid_namespace_apart_from_its_group_is_alone() {
    let apart = |words: &[String]| {
        let mut apart = Command::new("unshare");
        apart.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"]).args(words);
        apart.output()
    };
    if !apart(&["true".to_owned()]).is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: no pid namespaces here");
    }
    let output = apart(&program("greets")).unwrap();
    let text = text(&output);
    assert_eq!((output.status.code(), count(&text, "of 1, 1 here: sum 1")), (Some(0), 1), "{text}");
}

#[test]
fn two_programs_of_a_rank_may_have_its_place_one_after_the_other() {
    let greets = program("greets").join(" ");
    let output = end(launcher(1, &shell(&format!("{greets}; {greets}")), &[]));
    let text = text(&output);
    assert_eq!((output.status.code(), count(&text, "of 1, 1 here: sum 1")), (Some(0), 2), "{text}");
}
