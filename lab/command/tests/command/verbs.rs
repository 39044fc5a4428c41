//! Each verb does what it says.
use crate::{foregather, json, run, scratch, stderr, validate};
use foregather_host::{affinity, facts};
use std::fs;
use std::process::Command;

const ONE_ROW: [&str; 12] = [
    "measure",
    "barriers",
    "--rows",
    "2t, 1 us",
    "--waiters",
    "central/block,rust-std",
    "--repetitions",
    "2",
    "--ms",
    "5",
    "--format",
    "json",
];

#[test]
fn a_row_of_barriers_is_a_valid_document() {
    let document = json(&run(&ONE_ROW));
    validate(&document, "results.schema.json");
    let cells: Vec<_> =
        document["measurements"].as_array().unwrap().iter().filter(|m| m["labels"]["row"] == "2t, 1 us").collect();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert!(cell["values"].as_array().unwrap().iter().all(|rate| rate.as_f64().unwrap() > 0.0), "{cell}");
        assert!(
            cell["figures"]["share"].as_f64().unwrap() > 0.0 && cell["figures"]["cpu_us_per_episode"].as_f64().unwrap() > 0.0
        );
    }
}

#[test]
fn waits_are_a_valid_document_and_the_costs_are_kept_unless_others_had_the_machine() {
    let kept = scratch("kept.json");
    let _ = std::fs::remove_file(&kept);
    let output = foregather(&["measure", "waits", "--quick", "--runs", "12", "--format", "json"])
        .env("FOREGATHER_MACHINE", &kept)
        .output()
        .unwrap();
    let document = json(&output);
    validate(&document, "results.schema.json");
    assert_eq!(kept.exists(), document["noise"]["verdict"] != "unusable", "{}", document["notes"]);
    assert!(document["notes"].to_string().contains(if kept.exists() { "are kept in" } else { "are not kept" }));
    if kept.exists() {
        let costs: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
        assert!(facts::tick().is_none_or(|tick| costs["tick_ns"][0] == tick.0), "the kernel knows its tick: {costs}");
    }
    let ids: Vec<_> = document["measurements"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect();
    for wanted in ["price/local_switch", "ping-pong/process/one-cpu/futex/0us", "ping-pong/thread/one-cpu/condvar/0us"] {
        assert!(ids.iter().any(|id| id == wanted), "{wanted} is not among {ids:?}");
    }
}

#[test]
fn skew_is_a_valid_document_of_every_barrier_in_both_releases() {
    let document = json(&run(&["measure", "skew", "--quick", "--repetitions", "1", "--format", "json"]));
    validate(&document, "results.schema.json");
    let all = document["measurements"].as_array().unwrap();
    let two_cpus = affinity::allowed().len() > 1;
    let find = |id: &str| all.iter().find(|m| m["id"] == *id).unwrap_or_else(|| panic!("{id} is missing"));
    for kind in foregather_barrier::Algorithm::ALL {
        let [plain, harmonized] = ["plain", "harmonized"].map(|release| find(&format!("skew/{}/block/{release}", kind.name())));
        assert!(plain["summary"]["p50"].as_f64().unwrap() > 0.0 && plain["figures"]["layer"].as_f64().unwrap() >= 1.0, "{plain}");
        let figure = |name: &str| harmonized["figures"][name].as_f64().unwrap();
        assert!((0.0..=100.0).contains(&figure("met_percent")) && figure("slack_us") > 0.0, "{harmonized}");
        if two_cpus {
            let spinning = find(&format!("skew/{}/spin/plain", kind.name()));
            let predicted = spinning["figures"]["measured_over_predicted"].is_f64();
            assert_eq!(predicted, kind != foregather_barrier::Algorithm::Central, "{spinning}");
        }
    }
    assert_eq!(all.iter().any(|m| m["id"] == "loggp/o-send"), two_cpus);
    assert!(!document["notes"].as_array().unwrap().is_empty(), "how far the counters are apart is said");
}

#[test]
fn people_get_the_ranking_and_are_told_what_cannot_be_run() {
    let output = run(&["measure", "skew", "--quick", "--repetitions", "1", "--threads", "3"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("layer  barrier"), "{said} {}", stderr(&output));
    assert!(!said.contains("butterfly") && stderr(&output).contains("butterfly cannot synchronise 3"), "{}", stderr(&output));
}

#[test]
fn shift_is_a_valid_document_with_every_way_and_an_answer() {
    let document = json(&run(&["measure", "shift", "--quick", "--repetitions", "1", "--threads", "2", "--format", "json"]));
    validate(&document, "results.schema.json");
    let all = document["measurements"].as_array().unwrap();
    assert_eq!(all.len(), 6 * 5);
    for m in all {
        assert!(m["summary"]["p50"].as_f64().unwrap() > 0.0 && m["figures"]["cpu_p50_us"].as_f64().unwrap() > 0.0, "{m}");
        assert_eq!(m["figures"]["ratio_p50"].is_f64(), m["labels"]["way"] != "long", "{m}");
    }
    let notes = document["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with("2 threads: RDS before a long shift pays")), "{notes:?}");
    let odd = run(&["measure", "shift", "--quick", "--threads", "3"]);
    assert!(!odd.status.success() && stderr(&odd).contains("a power of two"), "{}", stderr(&odd));
}

#[test]
fn noise_is_a_valid_document_with_a_line_for_every_processor() {
    let document = json(&run(&["measure", "noise", "--seconds", "0.05", "--format", "json"]));
    validate(&document, "results.schema.json");
    for cpu in affinity::allowed() {
        let find = |what: &str| {
            let id = format!("noise/{what}/cpu {cpu}");
            document["measurements"]
                .as_array()
                .unwrap()
                .iter()
                .find(|m| m["id"] == *id)
                .unwrap_or_else(|| panic!("{id} is missing"))
        };
        assert!(find("line")["figures"]["slope_ns"].as_f64().unwrap() > 0.0);
        assert!(find("loops")["figures"]["floor_us"].as_f64().unwrap() > 0.0);
        assert!(!find("trace")["values"].as_array().unwrap().is_empty());
    }
    let refused = run(&["measure", "noise", "--seconds", "0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

/// Simulations give the same verdicts on every machine, so a claim that comes out otherwise is an error.
#[test]
fn simulated_claims_come_out_as_they_are_known_to() {
    for (experiment, claims) in [("competitive", 4), ("gang", 2), ("fig2", 2)] {
        let output = run(&["reproduce", "tsafrir-feitelson2002", experiment, "--check", "--format", "json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        validate(&list, "reproduction.schema.json");
        assert_eq!(list.as_array().unwrap().len(), claims, "{experiment}");
    }
}

#[test]
fn claims_are_a_valid_list() {
    let output = run(&["reproduce", "guignon2000", "counters", "--format", "json"]);
    // 1 is an honest answer on a machine whose counters disagree.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    validate(&list, "reproduction.schema.json");
    assert_eq!(list.as_array().unwrap().len(), 1);
}

#[test]
fn the_doctor_names_what_is_missing_with_a_remedy() {
    let document = json(&run(&["doctor", "--format", "json"]));
    for check in document["checks"].as_array().unwrap() {
        assert!(check["status"] != "missing" || check["remedy"] != "", "{check}");
    }
    let fallback = foregather(&["doctor", "--format", "json"]).env("FOREGATHER_CLOCK", "monotonic").output().unwrap();
    let document = json(&fallback);
    let clock = document["checks"].as_array().unwrap().iter().find(|c| c["name"] == "cycle clock").unwrap();
    assert!(clock["found"].as_str().unwrap().starts_with("monotonic") && clock["status"] == "note", "{clock}");
}

#[test]
fn the_doctor_tells_the_costs_and_every_signal_of_the_waiter() {
    let checks = |command: &mut Command| {
        let document = json(&command.output().unwrap());
        let checks = document["checks"].as_array().unwrap().clone();
        move |name: &str| checks.iter().find(|c| c["name"] == *name).unwrap_or_else(|| panic!("{name} is missing")).clone()
    };
    let found = checks(&mut foregather(&["doctor", "--format", "json"]));
    for signal in ["cpu ids", "thread clocks", "scout", "may move", "cpu quota", "scheduling class", "cycle clock"] {
        assert_ne!(found(&format!("signal: {signal}"))["found"], "", "{signal}");
    }
    let costs = found("machine costs")["found"].as_str().unwrap().to_owned();
    assert!(["local hand-over", "remote block and wake", "tick"].iter().all(|cost| costs.contains(cost)), "{costs}");
    let bound = checks(foregather(&["doctor", "--format", "json"]).env("FOREGATHER_PLACEMENT", "off"));
    assert_eq!((&bound("signal: may move")["status"], &bound("signal: scout")["status"]), (&"note".into(), &"note".into()));
}

#[test]
fn the_doctor_tells_how_large_a_team_would_be_and_what_keeps_it_from_that() {
    // A program that knows no such verb, as one that is out of date.
    let with = [("FOREGATHER_THREADS", "1"), ("FOREGATHER_WAIT", "impatiently"), ("FOREGATHER_PEERS", "/bin/sh")];
    let document = json(&foregather(&["doctor", "--format", "json"]).envs(with).output().unwrap());
    let find = |name: &str, said: &str| {
        let found = document["checks"].as_array().unwrap().iter().find(|c| c["name"] == *name).expect(name);
        assert!(found["found"].as_str().unwrap().contains(said), "{found}");
        found["remedy"].as_str().unwrap().to_owned()
    };
    find("team: size", "serial");
    find("team: waiting", "adaptive");
    assert!(find("team: settings", "impatiently").contains("two-phase"), "it says what there is");
    find("blas: crossovers", "serial");
    for name in ["peers: teams", "peers: blas"] {
        assert!(find(name, "/bin/sh list-").contains("cargo build"), "{name}");
    }
}

#[test]
fn a_peers_program_that_is_out_of_date_is_named_with_the_remedy() {
    for what in ["teams", "openmp", "blas"] {
        let output = foregather(&["measure", what, "--quick"]).env("FOREGATHER_PEERS", "/bin/sh").output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("/bin/sh list-") && said.contains("cargo build --release --locked -p foregather-peers"), "{said}");
    }
}

#[test]
fn two_runs_can_be_compared_and_reported() {
    let (a, b, page) = (scratch("a.json"), scratch("b.json"), scratch("page.html"));
    for path in [&a, &b] {
        json(&foregather(&ONE_ROW).arg("--output").arg(path).output().unwrap());
    }
    let compared = foregather(&["compare", "--format", "json"]).arg(&a).arg(&b).output().unwrap();
    assert!(!json(&compared)["pairs"].as_array().unwrap().is_empty());
    let reported = foregather(&["report", "-o"]).arg(&page).arg(&a).arg(&b).output().unwrap();
    assert!(reported.status.success(), "{}", stderr(&reported));
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"));
}

/// Each is refused in one sentence, and leaves no page behind.
#[test]
fn what_is_no_results_file_makes_no_page() {
    let page = scratch("refused.html");
    for (name, text, says) in [
        ("words.json", "hello", "it is not a JSON object, or was cut short"),
        ("cut.json", r#"{"schema":"foregather.results/1","#, "it is not a JSON object, or was cut short"),
        ("newer.json", r#"{"schema":"foregather.results/9"}"#, "reads \"foregather.results/1\" only; measure again"),
        ("other.json", "{}", "it has no \"schema\""),
    ] {
        let file = scratch(name);
        std::fs::write(&file, text).unwrap();
        let output = foregather(&["report", "-o"]).arg(&page).arg(&file).output().unwrap();
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(says) && !page.exists(), "{said}");
    }
}

/// With one processor the rest is measured, and what is left out is said.
#[test]
fn one_processor_is_enough_to_run() {
    let output = std::thread::spawn(|| {
        affinity::pin(affinity::allowed()[0]).unwrap();
        foregather(&[
            "measure",
            "barriers",
            "--quick",
            "--repetitions",
            "1",
            "--ms",
            "2",
            "--waiters",
            "central/yield,rust-std",
            "--format",
            "json",
        ])
        .output()
        .unwrap()
    })
    .join()
    .unwrap();
    let document = json(&output);
    assert!(document["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("one processor")));
    assert!(document["measurements"].as_array().unwrap().iter().all(|m| !m["id"].as_str().unwrap().contains("pinned")));
}

#[test]
fn help_completions_and_manual_are_there() {
    let help = run(&["--help"]);
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Exit codes"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).stdout.len() > 1_000);
    }
    assert!(String::from_utf8_lossy(&run(&["man"]).stdout).contains(".TH foregather"));

    let folder = scratch("manual");
    let into = folder.to_str().unwrap();
    assert!(run(&["man", "--directory", into]).status.success());
    let page = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    // Every page that the first one refers to is there.
    let all = page("foregather.1");
    let verbs: Vec<_> = all.lines().filter_map(|line| line.strip_prefix("foregather\\-")?.strip_suffix("(1)")).collect();
    assert!(verbs.len() > 8 && verbs.contains(&"doctor"), "{verbs:?}");
    for verb in verbs {
        assert!(page(&format!("foregather-{verb}.1")).contains(&format!("foregather {verb}")), "{verb}");
    }
    let refused = run(&["man", "--directory", "/proc/manual"]);
    assert!(refused.status.code() == Some(3) && stderr(&refused).contains("/proc/manual: "), "{}", stderr(&refused));
}
