//! `simulate --explain`: why trials failed, and why a simulated network never came to its end.
use crate::{json, run, scratch, stderr};

/// Few trials of the plan in which gsync fails most often.
const FEW: [&str; 6] = ["--set", "sweep.dimension=[7]", "--set", "sweep.barrier=[\"gsync\",\"rds\"]", "--set", "run.seeds=1"];

fn explain(more: &[&str]) -> std::process::Output {
    run(&[&["--quiet", "simulate", "seidel-success-calibrated", "--explain"], FEW.as_slice(), more].concat())
}

#[test]
fn a_failed_shift_is_explained_behind_the_table() {
    let output = explain(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| *line == "barrier gsync, dimension 7, seed 1").unwrap_or_else(|| panic!("{text}"));
    assert!(lines[begin + 1].starts_with("  trial ") && lines[begin + 1].contains(": the shift of node "), "{text}");
    assert!(
        lines[begin..].iter().any(|line| line.contains("for the receive port of") && line.contains("held by forced")),
        "{text}"
    );
    assert!(!text.contains("barrier rds,"), "none of its trials failed: {text}");
}

#[test]
fn a_document_stays_one() {
    let output = explain(&["--format", "json"]);
    assert!(json(&output)["measurements"].is_array());
    assert!(stderr(&output).contains("barrier gsync, dimension 7, seed 1"));
}

#[test]
fn processors_have_nothing_of_the_kind() {
    let output = run(&["simulate", "fig4", "--explain"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--explain says why shifts on a network failed, and fig4 is about processors"));
}

#[test]
fn a_network_that_hangs_says_who_waits_for_what() {
    let plan = scratch("lossy.toml");
    let text = "title = \"Lossy\"\n[network]\nprofile = \"ipsc860\"\nnodes = 16\nfaults = { loss = 0.05 }\n[trial]\nbarrier = \"gsync\"\ntrials = 10\n[sweep]\nseed = [1]\n";
    std::fs::write(&plan, text).unwrap();
    let output = run(&["simulate", plan.to_str().unwrap()]);
    let told = stderr(&output);
    assert!(!output.status.success() && told.contains("of the nodes wait forever") && told.contains(", was lost"), "{told}");
    assert!(told.contains(" waits for a null message in slot "), "{told}");
}
