//! `measure dsm`: what it prints and how it ends. What it finds depends on the machine, and is not tested.
use crate::{json, run, scratch, stderr, validate};
use serde_json::Value;

fn ids(document: &Value) -> Vec<&str> {
    document["measurements"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap_or_default()).collect()
}

fn find<'a>(document: &'a Value, id: &str) -> &'a Value {
    let all = document["measurements"].as_array().unwrap();
    all.iter().find(|m| m["id"] == *id).unwrap_or_else(|| panic!("{id} is not among {:?}", ids(document)))
}

#[test]
fn a_quick_run_is_a_valid_document_and_makes_a_page_with_its_sections() {
    let kept = scratch("dsm.json");
    let kept = kept.to_str().unwrap();
    let document = json(&run(&["measure", "dsm", "--quick", "--backend", "mprotect", "--output", kept, "--format", "json"]));
    validate(&document, "results.schema.json");
    for (bytes, touch) in [(148, "read"), (148, "upgrade"), (672, "write"), (4_096, "read")] {
        let m = find(&document, &format!("dsm-faults/shm/mprotect/adaptive!give-way/{bytes}B/{touch}"));
        let [p10, cpu] = ["p10_ns", "cpu_us"].map(|name| m["figures"][name].as_f64().unwrap());
        let [min, p50] = ["min", "p50"].map(|name| m["summary"][name].as_f64().unwrap());
        assert!(min <= p10 && p10 <= p50 && cpu > 0.0, "{m}");
        // A touch of each of a hundred units, four times.
        assert_eq!(m["summary"]["n"], 400, "{m}");
        let parts = ["signal_us", "owner_us", "frames_us", "rest_us"].map(|name| m["figures"][name].as_f64().unwrap());
        assert!((parts.iter().sum::<f64>() - p50 / 1e3).abs() < 0.02, "the parts are the whole: {m}");
    }
    let asked = find(&document, "dsm-asked/shm/mprotect/adaptive!give-way/148B/read");
    assert!(asked["figures"]["of_at_once"].is_f64() && asked["figures"]["rest_us"].is_f64(), "{asked}");
    for policy in ["adaptive!give-way", "adaptive", "two-phase:50us", "block"] {
        let m = find(&document, &format!("dsm-faults-owner-computes/shm/mprotect/{policy}/148B/read"));
        assert_eq!(m["summary"]["n"], 200, "{m}");
        assert!(m["figures"]["p10_ns"].is_f64() && m["figures"]["cpu_us"].is_null() && m["figures"]["rest_us"].is_null(), "{m}");
    }
    assert!(find(&document, "dsm-fetch/shm/4096B")["summary"]["min"].as_f64() > Some(0.0));
    assert!(find(&document, "dsm-at-once/mprotect/upgrade at once")["summary"]["min"].as_f64() > Some(0.0));
    assert!(find(&document, "dsm-views/mprotect/1024KiB/27")["figures"]["ratio"].as_f64() > Some(0.0));
    let page = scratch("dsm.html");
    assert!(run(&["report", kept, "--output", page.to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(page).unwrap();
    for section in
        ["What a fault of shared memory costs", "Faults while the owner computes", "What many views cost", "Millipage, 1999"]
    {
        assert!(page.contains(section), "{section} is missing");
    }
}

#[test]
fn people_get_the_parts_they_asked_for() {
    let said = |args: &[&str]| {
        let output = run(&[&["measure", "dsm", "--quick"][..], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let faults = said(&["--only", "faults", "--size", "100", "--policy", "two-phase:50us", "--backend", "mprotect"]);
    assert!(faults.starts_with("touch") && faults.contains("two-phase:50us") && !faults.contains("computes"), "{faults}");
    assert!(faults.contains("fetch of 100 bytes") && faults.contains("ArgoDSM"), "{faults}");
    let views = said(&["--only", "views"]);
    assert!(views.starts_with("through views") && views.contains("1 MiB") && !views.contains("ArgoDSM"), "{views}");
}

/// Over libfabric's tcp, if it is here; if it is not, that is said, with what to install.
#[test]
fn libfabric_carries_faults_or_is_said_to_be_missing() {
    let args =
        ["measure", "dsm", "--quick", "--fabric", "ofi:tcp", "--only", "faults", "--sizes", "148", "--backend", "mprotect"];
    let output = run(&[&args[..], &["--format", "json"]].concat());
    let document = json(&output);
    validate(&document, "results.schema.json");
    let missing = document["notes"].to_string();
    if missing.contains("libfabric") {
        assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {missing}");
    } else {
        find(&document, "dsm-faults/ofi:tcp/mprotect/adaptive!give-way/148B/write");
        find(&document, "dsm-fetch/ofi:tcp/148B");
    }
}

#[test]
fn unknown_back_ends_policies_and_sizes_are_refused_by_name() {
    for (args, culprit) in [
        (["--backend", "mprotect,magic"], "magic"),
        (["--policy", "spim"], "spim"),
        (["--sizes", "3"], "3"),
        (["--fabric", "pigeon"], "pigeon"),
        (["--only", "nothing"], "nothing"),
    ] {
        let output = run(&[&["measure", "dsm", "--quick"][..], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(culprit), "{}", stderr(&output));
    }
}
