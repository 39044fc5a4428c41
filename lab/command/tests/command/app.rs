//! `app`: five programs on ranks that are processes, however they are started, and how it ends if that makes
//! no sense.
use crate::{foregather, json, run, scratch, stderr, validate};
use foregather_dsm::views::Backend;
use serde_json::Value;

const APPS: [&str; 5] = ["is", "sor", "water", "lu", "tsp"];

fn backends() -> Vec<&'static str> {
    if Backend::chosen().0 == Backend::Userfault { vec!["userfaultfd", "mprotect"] } else { vec!["mprotect"] }
}

/// Its measurements of runs, and of ranks.
fn parts(document: &Value) -> (Vec<&Value>, Vec<&Value>) {
    document["measurements"].as_array().unwrap().iter().partition(|m| m["labels"]["rank"].is_null())
}

#[test]
fn all_five_are_right_as_processes_on_both_back_ends() {
    for app in APPS {
        for backend in backends() {
            // Those are quick; more ranks and other sizes are tried by `.ci/apps`.
            let document = json(&run(&["app", app, "--ranks", "1,2,3", "--backend", backend, "--format", "json"]));
            validate(&document, "results.schema.json");
            let (runs, ranks) = parts(&document);
            assert_eq!((runs.len(), ranks.len()), (3, 6), "{app}, {backend}");
            let notes = document["notes"].as_array().unwrap();
            assert_eq!(notes.iter().filter(|note| note.as_str().unwrap().contains("is right: ")).count(), 3, "{notes:?}");
            let two = runs[1];
            assert_eq!(two["id"], format!("app/{app}/small shm {backend}/ranks=2"));
            assert!(two["figures"]["speedup"].as_f64().unwrap() > 0.0, "{two}");
            assert!(two["figures"]["cpu_ms"].as_f64().unwrap() > 0.0, "{two}");
            assert!(two["figures"]["given_writes"].as_f64().unwrap() > 0.0, "{two}");
            let sum: f64 = two["figures"]
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| PARTS.contains(&&name[..]))
                .map(|m| m.1.as_f64().unwrap())
                .sum();
            assert!(sum > 0.0 && sum <= two["summary"]["max"].as_f64().unwrap() * 1.001, "parts are {sum} ms together: {two}");
        }
    }
}

const PARTS: [&str; 7] = ["compute_ms", "read_fault_ms", "write_fault_ms", "upgrade_ms", "ahead_ms", "lock_ms", "barrier_ms"];

#[test]
fn a_launchers_ranks_join_and_the_first_one_tells() {
    let program = env!("CARGO_BIN_EXE_foregather");
    let output = run(&["run", "-n", "3", "--no-prefix", "--", program, "app", "sor", "--format", "json"]);
    let document = json(&output);
    let (runs, ranks) = parts(&document);
    assert_eq!((runs.len(), ranks.len()), (1, 3), "{document}");
    assert_eq!(runs[0]["labels"]["ranks"], "3");
    let output = run(&["run", "-n", "2", "--", program, "app", "sor", "--ranks", "4"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("a launcher has started 2"), "{}", stderr(&output));
}

#[test]
fn ranks_may_be_threads_and_have_threads() {
    let kept = scratch("app.json");
    let kept = kept.to_str().unwrap();
    let args = ["app", "tsp", "--ranks", "2", "--threads", "2", "--fabric", "threads", "--policy", "block", "--unit", "256"];
    let output = foregather(&args).args(["--no-push", "--repeat", "2", "--output", kept]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&std::fs::read(kept).unwrap()).unwrap();
    let (runs, ranks) = parts(&document);
    assert_eq!((runs.len(), ranks.len()), (1, 2), "{document}");
    assert_eq!(runs[0]["values"].as_array().unwrap().len(), 2, "{document}");
    let id = runs[0]["id"].as_str().unwrap();
    assert!(id.starts_with("app/tsp/small threads ") && id.ends_with(" block 2 threads unit 256 no push/ranks=2"), "{id}");
    let page = scratch("app.html");
    let output = run(&["report", kept, "--output", page.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("tsp on 2 ranks") && page.contains("read fault"), "the breakdown is drawn");
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (args, said) in [
        (&["app", "ep"][..], "is, sor, water, lu, tsp"),
        (&["app", "sor", "--class", "S"], "sor has small, paper"),
        (&["app", "tsp", "--class", "gr48"], "ulysses22"),
        (&["app", "sor", "--ranks", "65"], "65 is not in 1..=64"),
        (&["app", "sor", "--ranks", "0"], "0 is not in"),
        (&["app", "tsp", "--unit", "3"], "3 is not in 4..="),
        (&["app", "tsp", "--unit", "150"], "a multiple of 4 bytes"),
        (&["app", "lu", "--unit", "148"], "--unit is for tsp only"),
        (&["app", "sor", "--chunk", "2"], "--chunk is for water only"),
        (&["app", "is", "--no-prefetch"], "--no-prefetch is for lu only"),
        (&["app", "is", "--no-push"], "--no-push is for tsp only"),
        (&["app", "is", "--policy", "spinn"], "not a waiting policy"),
        (&["app", "is", "--backend", "fancy"], "mprotect"),
        (&["app", "is", "--fabric", "pigeons"], "write threads, shm, ofi"),
        (&["app", "is", "--ranks", "1,2", "--explain", "races"], "about one run"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?} should say `{said}`: {}", stderr(&output));
    }
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let output = run(&["app", "tsp", "--class", "paper", "--ranks", "1", "--within", "1"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("within 1s") || stderr(&output).contains("within 1"), "{}", stderr(&output));
}
