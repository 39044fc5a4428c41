//! `measure messages`: what it prints and how it ends. What it finds depends on the machine, and is not
//! tested.
use crate::{json, run, scratch, stderr, validate};
use foregather_host::affinity;
use serde_json::Value;

fn find<'a>(document: &'a Value, id: &str) -> &'a Value {
    let all = document["measurements"].as_array().unwrap();
    let ids = || all.iter().map(|m| m["id"].as_str().unwrap_or_default()).collect::<Vec<_>>();
    all.iter().find(|m| m["id"] == *id).unwrap_or_else(|| panic!("{id} is not among {:?}", ids()))
}

#[test]
fn a_quick_run_is_a_valid_document_and_makes_a_page_with_its_sections() {
    let kept = scratch("messages.json");
    let kept = kept.to_str().unwrap();
    let document = json(&run(&["measure", "messages", "--quick", "--ms", "10", "--output", kept, "--format", "json"]));
    validate(&document, "results.schema.json");
    for (bytes, way) in [(8, "chosen"), (512, "chosen"), (4_096, "buffered"), (65_536, "memcpy")] {
        let m = find(&document, &format!("messages/process/ping-pong/{bytes}B/{way}"));
        assert_eq!(m["values"].as_array().unwrap().len(), 3, "{m}");
        assert!(m["summary"]["min"].as_f64().unwrap() > 0.0 && m["figures"]["processors"].is_f64(), "{m}");
    }
    let stream = find(&document, "messages/process/stream/4096B/chosen");
    assert!(stream["figures"]["gb_per_s"].as_f64().unwrap() > 0.0 && stream["figures"]["waits_spun"].is_f64(), "{stream}");
    if affinity::allowed().len() > 1 {
        assert!(stream["figures"]["ratio_to_frames"].as_f64().unwrap() > 0.0, "{stream}");
    }
    for policy in ["spin", "yield", "two-phase:50us", "block", "adaptive"] {
        let alone = find(&document, &format!("messages-beside-hogs/process/0/{policy}"));
        let beside = find(&document, &format!("messages-beside-hogs/process/1/{policy}"));
        assert!(alone["figures"]["hog_share"].is_null(), "{alone}");
        assert!(beside["figures"]["hog_share"].as_f64().unwrap() > 0.0, "{beside}");
        let [p50, p99, max] = ["p50", "p99", "max"].map(|name| beside["figures"][format!("half_{name}_us")].as_f64().unwrap());
        assert!(p50 <= p99 && p99 <= max, "{beside}");
    }
    let page = scratch("messages.html");
    assert!(run(&["report", kept, "--output", page.to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(page).unwrap();
    for section in ["Half a round trip by size", "Streams by size", "Messages beside busy programs"] {
        assert!(page.contains(section), "{section} is missing");
    }
}

#[test]
fn threads_with_hogs_within_and_chosen_ways_and_sizes_only() {
    let args = ["measure", "messages", "--world", "thread", "--quick", "--sizes", "1,100", "--ways", "chosen", "--batches", "2"];
    let rest = ["--hogs", "2", "--hogs-within", "--policies", "block,adaptive", "--ms", "5", "--format", "json"];
    let document = json(&run(&[&args[..], &rest[..]].concat()));
    validate(&document, "results.schema.json");
    let ids: Vec<_> = document["measurements"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    let expected = [
        "messages/thread/ping-pong/1B/chosen",
        "messages/thread/stream/1B/chosen",
        "messages/thread/both-ways/1B/chosen",
        "messages/thread/ping-pong/100B/chosen",
        "messages/thread/stream/100B/chosen",
        "messages/thread/both-ways/100B/chosen",
        "messages-beside-hogs/thread/0/block",
        "messages-beside-hogs/thread/0/adaptive",
        "messages-beside-hogs/thread/2 within/block",
        "messages-beside-hogs/thread/2 within/adaptive",
    ];
    assert_eq!(ids, expected);
}

/// Over libfabric's tcp, if it is here; if it is not, that is said, with what to install.
#[test]
fn libfabric_carries_messages_or_is_said_to_be_missing() {
    let args = ["measure", "messages", "--fabric", "ofi", "--quick", "--only", "sizes", "--sizes", "8", "--format", "json"];
    let output = run(&[&args[..], &["--ways", "chosen", "--batches", "2"]].concat());
    if output.status.code() == Some(0) {
        let document = json(&output);
        validate(&document, "results.schema.json");
        find(&document, "messages/ofi:tcp/ping-pong/8B/chosen");
    } else {
        assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {}", stderr(&output));
        assert!(stderr(&output).contains("libfabric"), "{}", stderr(&output));
    }
    let output = run(&["measure", "messages", "--world", "thread", "--fabric", "ofi"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn people_get_the_tables_they_asked_for() {
    let said = |only: &str| {
        let output = run(&["measure", "messages", "--only", only, "--quick", "--sizes", "8", "--policies", "block", "--ms", "5"]);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (sizes, hogs) = (said("sizes"), said("hogs"));
    assert!(sizes.starts_with("bytes") && sizes.contains("chosen") && !sizes.contains("hogs keep"), "{sizes}");
    assert!(hogs.starts_with("hogs a cpu") && hogs.contains("block") && !hogs.contains("chosen"), "{hogs}");
}

#[test]
fn unknown_ways_policies_and_sizes_are_refused_by_name() {
    for (args, culprit) in [
        (["--ways", "chosen,pigeon"], "pigeon"),
        (["--policies", "spim"], "spim"),
        (["--sizes", "0"], "0"),
        (["--hogs", "99"], "99"),
    ] {
        let output = run(&[&["measure", "messages", "--quick"][..], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(culprit), "{}", stderr(&output));
    }
}
