//! `simulate`: plans from the command line, and how it ends.
use crate::{foregather, json, run, scratch, stderr, validate};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Output, Stdio};

pub(crate) const SMALL: &str = "title = \"Small\"\n[machine]\ncpus = 2\n[[job]]\nname = \"app\"\nthreads = 3\nbarriers = 30\ngrain = \"fine\"\n\
                     policy = \"two-phase:14us\"\n[sweep]\nseed = [1, 2]\n";

pub(crate) fn plan(name: &str, text: &str) -> String {
    let path: PathBuf = scratch(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_plan_becomes_a_valid_document_and_a_trace() {
    let (plan, trace, kept) = (plan("small.toml", SMALL), scratch("trace.json"), scratch("small.json"));
    let mut command = foregather(&["simulate", &plan, "--format", "json", "--seed", "10", "--trace"]);
    let document = json(&command.arg(&trace).arg("--output").arg(&kept).output().unwrap());
    validate(&document, "results.schema.json");
    assert_eq!(
        (document["experiment"].as_str(), document["measurements"].as_array().unwrap().len()),
        (Some("simulate small"), 2)
    );
    assert_eq!(document["measurements"][1]["id"], "simulate/small/seed=2");
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    assert_eq!(kept["measurements"], document["measurements"]);
    let trace: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().iter().any(|event| event["ph"] == "X"));
}

#[test]
fn people_get_the_figure_in_numbers() {
    let output = run(&["simulate", &plan("table.toml", SMALL), "--set", "job.app.policy=spin"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>(),
        ["Small: spins that succeeded (%)", "seed ssr", "1 100", "2 100"]
    );
}

const NETWORK: &str = "title = \"Nodes\"\n[network]\nprofile = \"ipsc860\"\nnodes = 8\n[trial]\nbarrier = \"gsync\"\n\
                       skew = { last = \"0 us\" }\ntrials = 1\n[sweep]\nbarrier = [\"gsync\", \"rds\"]\ndelta = [\"0 us\", \"100 us\"]\n\
                       [figure]\nx = \"delta\"\nseries = \"barrier\"\n";

#[test]
fn a_plan_about_a_network_becomes_a_valid_document() {
    let plan = plan("nodes.toml", NETWORK);
    let of = |args: &[&str]| json(&run(&[&["simulate", &plan, "--format", "json"], args].concat()));
    let document = of(&[]);
    validate(&document, "results.schema.json");
    let measured = document["measurements"].as_array().unwrap();
    let costs: Vec<f64> = measured.iter().map(|m| m["figures"]["cost_us"].as_f64().unwrap()).collect();
    assert_eq!(costs, [225.0, 450.0, 450.0, 550.0], "d b_s, 2 d b_s; 2 d b_s, 2 d b_s + delta");
    assert_eq!(of(&[])["measurements"], document["measurements"], "the same seed gives the same numbers");

    let said = stdout(&run(&["simulate", &plan]));
    let lines: Vec<_> = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[1..], ["delta gsync rds", "0 us 225 450", "100 us 450 550"]);
    let output = run(&["simulate", &plan, "--dry-run", "--format", "csv"]);
    assert!(
        stdout(&output).starts_with("barrier,delta,seed,nodes,trials,million-events\ngsync,0 us,1,8,1,"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn bad_plans_about_networks_are_named_with_their_line() {
    let lossy = "{ loss = 0.5 }";
    let plan = plan("nodes-wrong.toml", NETWORK);
    let trace = scratch("nodes-trace.json");
    for (args, says) in [
        (&["--set", "network.nodes=6"][..], "nodes-wrong.toml:10: butterfly cannot synchronise 6 members"),
        (&["--set", "network.nul=\"6 us\""], "nodes-wrong.toml with --set: unknown key `nul` in [network]; did you mean `null`?"),
        (&["--set", &format!("network.faults={lossy}")], "was lost"),
        (&["--trace", trace.to_str().unwrap()], "--trace shows what threads do on processors"),
    ] {
        let output = run(&[&["simulate", &plan], args].concat());
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(says), "{args:?} should say `{says}`: {said}");
    }
    assert!(!trace.exists());
}

#[test]
fn bad_plans_are_named_with_their_line() {
    let wrong = plan("wrong.toml", &SMALL.replace("threads", "thredas"));
    for (args, says) in [
        (&["simulate", &wrong][..], "wrong.toml:6: unknown key `thredas` in [[job]]; did you mean `threads`?"),
        (&["simulate", "fig33"], "no plan `fig33` is shipped"),
        (&["simulate", "no/such.toml"], "cannot read the plan no/such.toml"),
        (&["simulate", "fig3", "--set", "load"], "write KEY=VALUE"),
        (&["simulate", "fig3", "--set", "job.0.size=3"], "plans/fig3.toml with --set: unknown key `size`"),
        (&["simulate"], "simulate what? a job, as in `--threads 10"),
    ] {
        let output = run(args);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(says), "{args:?} should say `{says}`: {said}");
    }
}

#[test]
fn a_job_needs_no_plan_and_becomes_one() {
    let job = ["--threads", "3", "--cpus", "2", "--compute", "20us", "--hogs", "0,1", "--barriers", "20"];
    let new = scratch("new.toml");
    let _ = std::fs::remove_file(&new);
    let output = run(&[&["simulate"], &job[..]].concat());
    let said = stdout(&output);
    assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
    assert_eq!(
        said.lines().take(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>(),
        [
            "3 threads on 2 processors beside 0 or 1 busy programs, 20us of work each: mean time from barrier to barrier (us)",
            "hogs adaptive block spin yield two-phase"
        ]
    );
    assert_eq!(said.lines().count(), 4, "{said}");

    let new = new.to_str().unwrap();
    let output = run(&[&["simulate"], &job[..], &["--new", new]].concat());
    assert_eq!(stdout(&output).trim_end(), format!("{new} is written; `foregather simulate {new}` runs it"));
    assert_eq!(stdout(&run(&["simulate", new])), said, "the plan is the job");
    let kept = std::fs::read_to_string(new).unwrap();
    assert!(kept.contains("threads = 3") && kept.contains("# how they wait"), "{kept}");
    let output = run(&["simulate", "--threads", "4", "--new", new]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("is there already"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(new).unwrap(), kept);
}

#[test]
fn jobs_that_make_no_sense_are_refused_in_one_sentence() {
    for (args, says) in [
        (
            &["fig3", "--threads", "4"][..],
            "--threads describes a job without a plan, and fig3 is one: say `--set job.0.threads=4`",
        ),
        (&["fig3", "--cpus", "4,8"], "--cpus describes a job without a plan, and fig3 is one: say it in the file"),
        (&["--cpus", "4"], "how many threads are to wait for each other? say it by --threads 8"),
        (&["--threads", "0"], "--threads: `threads` is 1 to 100000, not 0"),
        (&["--threads", "4", "--compute", "-1"], "--compute: `compute`: `-1`: a time cannot be negative"),
        (&["--threads", "4", "--compute", "5"], "--compute: `compute`: a time needs its unit: \"5 us\""),
        (&["--threads", "4", "--policy", "spinn"], "--policy: `spinn` is not a waiting policy; did you mean `spin`?"),
        (&["--new", "fig3"], "--new: `simulate fig3` runs a plan that comes with the program"),
        (&["--new", "/no/such/plan.toml"], "--new: cannot write /no/such/plan.toml"),
        (&["--threads", "4", "--set", "machine.cpu=2"], "--set: unknown key `cpu` in [machine]; did you mean `cpus`?"),
        (&["--threads", "4", "--barriers", "1000000000", "--set", "run.limit=\"1000000 s\""], "say --yes to run it"),
    ] {
        let output = run(&[&["simulate"], args].concat());
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.starts_with("foregather: "), "{args:?}: {said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{args:?} should say `{says}`: {said}");
    }
}

#[test]
fn what_would_take_hours_is_not_begun_unasked() {
    let plan =
        plan("long.toml", &SMALL.replace("30", "100000000000").replace("[sweep]", "[run]\nlimit = \"10000000 s\"\n[sweep]"));
    let output = run(&["simulate", &plan]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("h here; say --yes to run it"), "{}", stderr(&output));
    let output = run(&["simulate", &plan, "--dry-run", "--format", "csv"]);
    assert!(output.status.success() && stderr(&output).starts_with("2 runs"), "{}", stderr(&output));
    let table = stdout(&output);
    assert!(table.starts_with("seed,processors,jobs,threads,million-events\n1,2,1,3,"), "{table}");
    assert_eq!(table.lines().count(), 3, "{table}");

    // With --yes it begins; and what had ended when it is interrupted is kept.
    let kept = scratch("interrupted.json");
    let _ = std::fs::remove_file(&kept);
    let lengths = "sweep={ length = { short = { \"job.app.barriers\" = 20 }, endless = {} } }";
    let mut command = foregather(&["simulate", &plan, "--yes", "--set", lengths]);
    let mut child = command.arg("--output").arg(&kept).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while ticks_used(child.id()).is_some_and(|ticks| ticks < 50) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["measurements"].as_array().unwrap().len(), 1);
    assert_eq!(document["measurements"][0]["labels"]["length"], "short");
}

/// The processor time of a process, in hundredths of a second; nothing once it has ended.
fn ticks_used(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    if fields.first() == Some(&"Z") {
        return None;
    }
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[test]
fn shipped_plans_are_listed() {
    let list = json(&run(&["simulate", "--list", "--format", "json"]));
    let names: Vec<_> = list.as_array().unwrap().iter().map(|plan| plan["plan"].as_str().unwrap()).collect();
    for name in ["fig3", "sensitivity", "seidel-success-calibrated", "barriers-modern"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
}

#[test]
fn a_trace_is_repeated_and_the_assumption_is_printed() {
    let trace = scratch("repeated.goal");
    std::fs::write(&trace, "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n").unwrap();
    let trace = trace.to_str().unwrap();
    let output = run(&["simulate", trace, "--repeat-ranks", "512"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1024 ranks, 1024 operations, 512 messages"), "{text}");
    assert!(stderr(&output).contains("512 copies of the 2 ranks form one ring"), "{}", stderr(&output));
    for (times, said) in
        [("0", "invalid number of repetitions 0: expected 1 to"), ("4294967295", "expected 1 to"), ("-1", "-1"), ("x", "x")]
    {
        let output = run(&["simulate", trace, "--repeat-ranks", times]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    let plan = run(&["simulate", "fig3", "--repeat-ranks", "2"]);
    assert!(stderr(&plan).contains("repeat-ranks"), "{}", stderr(&plan));
}
