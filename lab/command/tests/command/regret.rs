//! `measure regret` goes on where it was stopped, and judges nothing by halves.
use crate::{foregather, json, scratch, validate};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn measured(state: &Path, settle_ms: &str) -> Value {
    let options = "measure regret --draw 4 --rows 2 --starts 3 --ms 2 --barriers --quiet --format json";
    let options: Vec<&str> =
        options.split(' ').chain(["--columns", "ours again,block", "--settle", settle_ms, "--state"]).collect();
    let mut command = foregather(&options);
    // The peers' program may have been built or not.
    json(&command.arg(state).env("FOREGATHER_PEERS", "/no/such/program").output().unwrap())
}

/// Values and figures by id.
fn numbers(document: &Value) -> Vec<(&str, &Value, &Value)> {
    let all = document["measurements"].as_array().unwrap();
    all.iter().map(|m| (m["id"].as_str().unwrap(), &m["values"], &m["figures"])).collect()
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_was() {
    let state = scratch("regret.jsonl");
    let _ = fs::remove_file(&state);
    let first = measured(&state, "0");
    validate(&first, "results.schema.json");
    let lines = |state: &Path| fs::read_to_string(state).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let whole = lines(&state);
    assert_eq!(whole.len(), 2 * (3 * 3 + 1), "each process of each cell, and what others did in each row");

    let again = measured(&state, "0");
    assert_eq!(lines(&state), whole, "all is known");
    assert_eq!(numbers(&again), numbers(&first));

    // Stopped within the second row: what was measured stays.
    fs::write(&state, whole[..14].join("\n") + "\n{\"run\": \"cut").unwrap();
    let resumed = measured(&state, "0");
    let kept = |document: &Value| numbers(document).iter().take(3).map(|row| format!("{row:?}")).collect::<Vec<_>>();
    assert_eq!(kept(&resumed), kept(&first));
    assert_eq!(lines(&state).len(), 14 + 1 + 5 + 1);

    // Other options are another run, and both stay in the file.
    let longer = measured(&state, "1");
    assert_eq!(numbers(&longer).len(), numbers(&first).len());
    assert_eq!(lines(&state).len(), 14 + 1 + 5 + 1 + 20);
    fs::remove_file(&state).unwrap();
}
