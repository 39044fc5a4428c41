//! What our model gives where the paper names no number: bands of its own, at a few loads of each figure.
use crate::TrialOptions;
use crate::curves::varied;

const TRIAL: TrialOptions = TrialOptions { full: false, quiet: true, journals: None };
const TWO: &str = r#"{ AB = "block", "2CS+" = "two-phase:14us" }"#;

/// The figure's 2CS+ at those labels.
fn two(name: &str, changes: &[(&str, &str)], labels: &[(&str, &str)], figure: &str) -> f64 {
    let all = varied(name, &TRIAL, &[changes, &[("sweep.policy", TWO)]].concat()).unwrap();
    all.with(&[labels, &[("policy", "2CS+")]].concat()).mean(figure)
}

#[test]
#[ignore = "takes 20 s unoptimised"]
fn longer_spins_make_loads_good_and_jobs_quick() {
    let one = |grain: &str, load: &str, figure: &str| {
        let grains = format!(r#"{{ it = {{ grain = "{grain}" }} }}"#);
        let changes = [("sweep.grains", grains.as_str()), ("sweep.load", load), ("job.job.barriers", "1000")];
        let plan = if figure == "speedup" { "fig7" } else { "fig5" };
        two(plan, &changes, &[("grains", "it")], figure)
    };
    for (grain, load, least) in
        [("fine", "[40]", 85.0), ("fine", "[96]", 85.0), ("medium", "[40]", 45.0), ("medium", "[96]", 65.0)]
    {
        let rate = one(grain, load, "ssr_percent");
        assert!(rate >= least, "{grain} grain among {load} threads: {rate} %");
    }
    for (grain, least) in [("fine", 1.5), ("medium", 1.1)] {
        let times = one(grain, "[96]", "speedup");
        assert!((least..3.0).contains(&times), "{grain} grain: {times} times as fast");
    }
}

#[test]
fn spinning_pays_in_mixes_at_light_loads() {
    for (load, least) in [("0.75x", 1.5), ("1.25x", 1.3)] {
        let changes = [("sweep.load", format!("[\"{load}\"]")), ("run.seeds", "3".into())];
        let times = two("fig8", &changes.each_ref().map(|(key, value)| (*key, value.as_str())), &[], "speedup");
        assert!(times >= least, "at {load}: {times} times as fast");
    }
}

#[test]
fn spinning_pays_on_larger_machines_up_to_a_load_of_one_and_a_half() {
    let changes = [("sweep.cpus", "[64]"), ("sweep.load", r#"["1.25x"]"#), ("run.seeds", "2")];
    let times = two("fig9", &changes, &[], "speedup");
    assert!(times >= 1.3, "{times} times as fast");
}
