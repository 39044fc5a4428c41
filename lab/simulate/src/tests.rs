//! Small plans from their text to their numbers.
use super::network;
use super::plan::{Plan, ReadOptions};
use super::points::{measurements, table};
use super::runner::{Point, RunnerSettings, run_while};
use super::{estimate, metric, perfetto};
use foregather_results::Measurement;
use std::sync::atomic::{AtomicU32, Ordering};

const SMALL: &str = r#"
title = "A small machine"
load = 6
[machine]
cpus = 4
[[job]]
name = "app"
threads = 3
barriers = 40
grain = "fine"
policy = "block"
[[job]]
load = true
threads = "fill"
[run]
seeds = 2
[record]
window = "100 us"
sample = "20 us"
spans = 500
[sweep]
load = [4, 8]
policy = { AB = "block", "2CS+" = "two-phase:14us" }
[figure]
x = "load"
series = "policy"
y = "speedup"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("plans/small.toml", text, &ReadOptions::default()).unwrap()
}

fn run(plan: &Plan, workers: u32) -> Vec<Point> {
    run_while(plan, RunnerSettings { workers, quiet: true }, &|| true).unwrap()
}

fn find<'a>(all: &'a [Measurement], id: &str) -> &'a Measurement {
    all.iter()
        .find(|m| m.id == id)
        .unwrap_or_else(|| panic!("{id} is not among {:?}", all.iter().map(|m| &m.id).collect::<Vec<_>>()))
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let plan = plan(SMALL);
    let (alone, together) = (run(&plan, 1), run(&plan, 3));
    let traces = |points: &[Point]| -> Vec<u64> {
        points.iter().flat_map(|p| p.runs.iter().map(|ran| ran.smp().unwrap().1.trace)).collect()
    };
    assert_eq!(traces(&alone), traces(&together));
    assert_eq!(measurements(&plan, &alone), measurements(&plan, &together));
    let mut distinct = traces(&alone);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((alone.len(), distinct.len()), (4, 8), "all runs differ");
}

#[test]
fn a_point_becomes_a_measurement_with_its_circumstances() {
    let plan = plan(SMALL);
    let points = run(&plan, 2);
    let all = measurements(&plan, &points);
    let m = find(&all, "simulate/small/load=8/policy=2CS+");
    assert_eq!((m.unit.as_str(), m.summary.n), ("times", 2));
    for (label, value) in [("load", "8"), ("policy", "2CS+"), ("plan", "small"), ("x-axis", "load"), ("series-axis", "policy")] {
        assert_eq!(m.labels.get(label).map(String::as_str), Some(value), "{label}");
    }
    let shares: f64 = ["compute_share", "spin_share", "switch_share", "idle_share"].iter().map(|name| m.figures[*name]).sum();
    assert!((shares - 1.0).abs() < 1e-5, "{shares}");
    assert_eq!((m.figures["threads"], m.figures["barriers"]), (8.0, 40.0));
    // Over itself, always-block has a speedup of 1; and it never spins.
    let block = find(&all, "simulate/small/load=8/policy=AB");
    assert_eq!(block.values.as_deref(), Some(&[1.0, 1.0][..]));
    assert!(!block.figures.contains_key("ssr_percent") && m.figures.contains_key("ssr_percent"));
    let elapsed = |point: usize| points[point].runs[0].smp().unwrap().1.jobs[0].elapsed_ns;
    assert!((m.values.as_ref().unwrap()[0] - elapsed(2) / elapsed(3)).abs() < 1e-6);
}

#[test]
fn regret_is_over_the_best_choice_of_the_point() {
    let text = SMALL.replace("y = \"speedup\"", "y = \"regret\"").replace("AB = \"block\"", "AB = \"block\", spin = \"spin\"");
    let plan = plan(&text);
    let points = run(&plan, 2);
    let all = measurements(&plan, &points);
    let elapsed = |point: usize| points[point].runs.iter().map(|ran| ran.smp().unwrap().1.jobs[0].elapsed_ns).sum::<f64>();
    for (first, load) in [(0, 4), (3, 8)] {
        let best = (first..first + 3).map(elapsed).fold(f64::INFINITY, f64::min);
        let regrets: Vec<f64> = (first..first + 3)
            .map(|point| {
                let (_, policy) = &points[point].labels[1];
                let m = find(&all, &format!("simulate/small/load={load}/policy={policy}"));
                let own = elapsed(point) / 2.0;
                let of = |ran: &super::runner::Ran| (ran.smp().unwrap().1.jobs[0].elapsed_ns - best / 2.0) / own;
                let expected: Vec<f64> = points[point].runs.iter().map(of).collect();
                let found = m.values.as_ref().unwrap();
                assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
                m.summary.mean.unwrap()
            })
            .collect();
        let (least, most) = regrets.iter().fold((f64::MAX, f64::MIN), |(low, high), &r| (low.min(r), high.max(r)));
        assert!(least.abs() < 1e-12 && most > 0.2, "the best choice has no regret, and no regret is negative: {regrets:?}");
    }
    assert!(
        all.iter().all(|m| m.labels.contains_key("state") || m.labels["best-axis"] == "policy"),
        "reports know which choices a regret compares"
    );
    let table = table(&plan, &all);
    let ends: Vec<&str> = table.rows.iter().rev().take(2).map(|row| row[0].as_str()).collect();
    assert_eq!(ends, ["worst", "mean"]);
}

#[test]
fn a_regret_needs_choices_to_compare() {
    for (figure, says) in [
        ("y = \"regret\"\nbest = \"polcy\"", "did you mean `policy`"),
        ("y = \"speedup\"\nbest = \"policy\"", "give y = \"regret\""),
    ] {
        let error = Plan::parse("small.toml", &SMALL.replace("y = \"speedup\"", figure), &ReadOptions::default()).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
    }
    let without = SMALL.replace("policy = { AB", "spin-policy = { AB").replace("series = \"policy\"", "series = \"load\"");
    assert!(Plan::parse("small.toml", &without.replace("speedup", "regret"), &ReadOptions::default()).is_err());
}

#[test]
fn threads_may_be_a_multiple_of_the_processors() {
    let text = SMALL.replace("threads = 3", "threads = \"0.5x\"");
    let threads = |text: &str| plan(text).study(0, 1).unwrap().smp().unwrap().jobs[0].threads;
    assert_eq!((threads(&text), threads(SMALL)), (2, 3));
    let error =
        Plan::parse("small.toml", &SMALL.replace("threads = 3", "threads = \"manyx\""), &ReadOptions::default()).err().unwrap();
    assert!(error.to_string().contains("`threads` is a number, not `manyx`"), "{error}");
}

/// A rule that is added to the table must be added to the plan.
#[test]
fn the_ablation_plan_switches_off_every_rule_that_can_matter_here() {
    let (_, text) = super::shipped::SHIPPED.iter().find(|(name, _)| *name == "ablation").unwrap();
    for rule in
        foregather_wait::adaptive::Rules::names().filter(|rule| !["blink", "sleep-realtime", "give-way", "doze"].contains(rule))
    {
        assert!(text.contains(&format!("\"{rule}\" = \"adaptive!{rule}\"")), "{rule}");
    }
}

#[test]
fn what_was_recorded_is_kept_over_time() {
    let plan = plan(SMALL);
    let points = run(&plan, 2);
    let all = measurements(&plan, &points);
    let states: Vec<_> = ["computing", "spinning", "ready", "blocked"]
        .map(|s| find(&all, &format!("simulate/small/load=4/policy=AB/state={s}")))
        .into();
    let samples = points[0].runs[0].smp().unwrap().1.recorded.samples.len();
    for at in 0..samples {
        assert_eq!(states.iter().map(|m| m.values.as_ref().unwrap()[at]).sum::<f64>(), 3.0, "three threads at sample {at}");
    }
    assert!(samples > 10 && states[0].figures["sample_us"] == 20.0);
    assert_eq!(find(&all, "simulate/small/load=4/policy=2CS+/state=ssr").figures["window_us"], 100.0);
    let spans: Vec<usize> = points.iter().map(|point| point.runs[0].smp().unwrap().1.recorded.spans.len()).collect();
    assert!(spans[0] > 0 && spans[1..] == [0, 0, 0], "{spans:?}");
}

#[test]
fn an_interruption_keeps_what_had_ended() {
    let plan = plan(SMALL);
    let ended = AtomicU32::new(0);
    // The worker asks once before each run, and the simulator now and then.
    let points =
        run_while(&plan, RunnerSettings { workers: 1, quiet: true }, &|| ended.fetch_add(1, Ordering::Relaxed) < 3).unwrap();
    let runs: usize = points.iter().map(|point| point.runs.len()).sum();
    assert!((1..=3).contains(&runs), "{runs}");
    let all = measurements(&plan, &points);
    assert!(find(&all, "simulate/small/load=4/policy=AB").summary.n >= 1);
    assert!(!table(&plan, &all).rows.is_empty());
    assert!(measurements(&plan, &run_while(&plan, RunnerSettings { workers: 2, quiet: true }, &|| false).unwrap()).is_empty());
}

#[test]
fn jobs_and_groups_are_shown_as_the_figure_says() {
    let text = r#"
load = 6
[machine]
cpus = 4
[mix]
sizes = { from = 2, to = 3 }
grains = ["fine", "coarse"]
work = "60 us"
policy = "two-phase:14us"
[run]
seeds = 3
[sweep]
load = { few = [4, 5], many = { from = 9, to = 11 } }
ties = ["arrive-first", "random"]
[figure]
kind = "heat"
rows = "load"
columns = ["job", "ties"]
of = ["fine", "coarse"]
y = "barriers"
"#;
    let plan = plan(text);
    let points = run(&plan, 2);
    let all = measurements(&plan, &points);
    assert_eq!((points.len(), all.len()), (10, 8));
    let m = find(&all, "simulate/small/load=many/ties=random/job=fine");
    assert_eq!((m.summary.n, m.labels["column-axis"].as_str(), m.labels["row-axis"].as_str()), (9, "job ties", "load"));
    let table = table(&plan, &all);
    assert_eq!(table.headings, ["load", "fine arrive-first", "coarse arrive-first", "fine random", "coarse random"]);
    assert_eq!(table.rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["few", "many"]);
    assert!(table.rows.iter().flatten().skip(1).all(|cell| cell != "-"), "{table:?}");
}

#[test]
fn a_trace_names_threads_and_processors() {
    let plan = plan(SMALL);
    let study = plan.study(0, 1).unwrap().smp().unwrap();
    let outcome = foregather_sim::smp::run(&study, || true).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&perfetto::trace(&study, &outcome)).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let complete: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    let in_jobs = complete.iter().filter(|e| e["pid"] != 0).count();
    assert_eq!(in_jobs, outcome.recorded.spans.len());
    assert!(complete.len() > in_jobs, "some of them ran on a processor");
    let named: Vec<_> = events.iter().filter(|e| e["ph"] == "M").map(|e| (&e["pid"], &e["tid"])).collect();
    for event in complete {
        assert!(named.contains(&(&event["pid"], &event["tid"])) && event["dur"].as_f64().unwrap() >= 0.0, "{event}");
    }
}

#[test]
fn longer_plans_are_estimated_to_take_longer() {
    let seconds = |barriers: &str| {
        let set = vec![("job.app.barriers".to_owned(), barriers.to_owned()), ("run.limit".to_owned(), "\"40000 s\"".to_owned())];
        let set = set
            .into_iter()
            .chain([("record.sample".to_owned(), "\"1 s\"".to_owned()), ("record.window".to_owned(), "\"1 s\"".to_owned())]);
        let plan = Plan::parse("small.toml", SMALL, &ReadOptions { set: set.collect(), ..ReadOptions::default() }).unwrap();
        estimate::of_plan(&plan, 2).unwrap()
    };
    let (short, long) = (seconds("1000"), seconds("1000000000"));
    assert!(long.seconds > 1e5 * short.seconds && long.seconds > 3_600.0);
    assert!(long.to_string().starts_with("8 runs") && long.to_string().ends_with("h here"), "{long}");
}

#[test]
fn metrics_have_names_of_their_own() {
    for all in [&metric::METRICS[..], &network::METRICS] {
        for (at, metric) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.name != metric.name && other.figure != metric.figure));
        }
    }
}

const NETWORK: &str = r#"
title = "Small"
[network]
profile = "ipsc860-calibrated"
dimension = 3
[trial]
barrier = "gsync"
shift = { protocol = "forced", bytes = "4 KiB" }
skew = "uniform 100 us"
trials = 6
skipped = 1
[run]
seeds = 2
[sweep]
barrier = ["gsync", "rds"]
dimension = [2, 3]
[figure]
x = "dimension"
series = "barrier"
y = "cost"
"#;

#[test]
fn a_network_gives_the_same_measurements_with_any_number_of_workers() {
    let plan = plan(NETWORK);
    let (alone, together) = (run(&plan, 1), run(&plan, 3));
    let summaries = |points: &[Point]| -> Vec<network::StudySummary> {
        points.iter().flat_map(|point| &point.runs).map(|ran| ran.network().unwrap().1.clone()).collect()
    };
    let all = summaries(&alone);
    assert_eq!((all.len(), &all), (8, &summaries(&together)));
    assert!(all.iter().all(|summary| summary.trials.len() == 5), "one of six is skipped");
    assert!((1..8).all(|at| all[at].trace != all[0].trace), "all runs differ");

    let measured = measurements(&plan, &alone);
    let m = find(&measured, "simulate/small/barrier=rds/dimension=3");
    assert_eq!((m.unit.as_str(), m.summary.n, measured.len()), ("us", 2, 4));
    assert_eq!((m.labels["x-axis"].as_str(), m.labels["series-axis"].as_str()), ("dimension", "barrier"));
    assert_eq!((m.figures["trials"], m.figures["least_shift_us"], m.figures["success_percent"]), (5.0, 1_549.56, 100.0));
    assert!(m.figures["shift_us"] >= 1_549.56 && m.figures["entry_skew_us"] > 0.0);
    assert!(!m.figures.contains_key("ssr_percent"));
    let table = table(&plan, &measured);
    assert_eq!((table.headings.join(" "), table.rows.len()), ("dimension gsync rds".to_owned(), 2));
}

#[test]
fn numbers_of_a_plan_are_those_of_the_formulas() {
    // One node is late, and nothing else happens: gsync costs 2 d b_s, RDS costs 2 d b_s and how late that
    // node is, and no node leaves it after the others.
    let set = [("trial.skew", "last 100 us"), ("network.profile", "ipsc860"), ("trial.trials", "2")];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let plan = Plan::parse("small.toml", NETWORK, &ReadOptions { set, ..ReadOptions::default() }).unwrap();
    let all = measurements(&plan, &run(&plan, 2));
    for (barrier, d, cost, precision) in
        [("gsync", 2, 300.0, 62.0), ("gsync", 3, 450.0, 93.0), ("rds", 2, 400.0, 0.0), ("rds", 3, 550.0, 0.0)]
    {
        let m = find(&all, &format!("simulate/small/barrier={barrier}/dimension={d}"));
        assert_eq!((m.figures["cost_us"], m.figures["precision_us"]), (cost, precision), "{barrier} {d}");
    }
}

#[test]
fn larger_networks_are_estimated_to_take_longer() {
    let at = |dimension: &str| {
        let set = vec![("sweep.dimension".to_owned(), dimension.to_owned())];
        let plan = Plan::parse("small.toml", NETWORK, &ReadOptions { set, ..ReadOptions::default() }).unwrap();
        (estimate::of_plan(&plan, 2).unwrap(), estimate::table(&plan).unwrap())
    };
    let ((small, table), (large, _)) = (at("[3]"), at("[13]"));
    assert!(large.events > 1_000.0 * small.events && small.runs == 4);
    assert_eq!(table.headings.join(" "), "barrier dimension seed nodes trials million-events");
    assert_eq!(table.rows[0][..5], ["gsync", "3", "1", "8", "6"]);
}
