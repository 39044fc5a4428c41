//! Made-up results of simulated plans, of the size and shape that `simulate` yields.

use super::{Dice, empty};
use foregather_results::{Measurement, Results};

/// A point of a plan under these choices.
fn point(plan: &str, what: &str, unit: &str, choices: &[(&str, &str)], values: Vec<f64>) -> Measurement {
    let parts: String = choices.iter().map(|(name, choice)| format!("/{name}={choice}")).collect();
    let m = Measurement::from_values(format!("simulate/{plan}{parts}"), what, unit, values).label("plan", plan);
    choices.iter().fold(m, |m, (name, choice)| m.label(name, *choice))
}

/// Rates of successful spins over load, with peaks at multiples of 16.
pub(crate) fn peaks() -> Vec<Measurement> {
    let of = |load: u32| {
        let ssr = if load.is_multiple_of(16) { 90.0 } else { 30.0 };
        let what = "Figure 3: one job against load: spins that succeeded";
        point("fig3", what, "%", &[("load", &load.to_string())], vec![ssr]).label("x-axis", "load")
    };
    (40..=208).step_by(8).map(of).collect()
}

/// Speedups over always-block of two policies, by grain, with two seeds that differ by a tenth on both sides.
pub(crate) fn speedups() -> Vec<Measurement> {
    let mut all = Vec::new();
    for (grain, gain) in [("fine", 1.0), ("medium", 0.2)] {
        for (policy, speedup) in [("AB", 1.0), ("CS", 1.0 + 0.5 * gain), ("2CS+", 1.0 + gain)] {
            for load in ["1x", "1.5x", "2x"] {
                let values = if policy == "AB" { vec![1.0, 1.0] } else { vec![speedup - 0.1, speedup + 0.1] };
                let choices = [("grains", grain), ("policy", policy), ("load", load)];
                let what = "Figure 7: spinning: how many times sooner jobs ended than with another choice";
                let m = point("fig7", what, "times", &choices, values);
                all.push(m.label("x-axis", "load").label("series-axis", "policy"));
            }
        }
    }
    all
}

/// Wake-up schemes by workload and policy, over Linux.
pub(crate) fn schemes() -> Vec<Measurement> {
    let mut all = Vec::new();
    for (workload, policy) in [("2 x 20", "CS"), ("2 x 20", "2CS+"), ("2 x 24", "CS"), ("2 x 24", "2CS+")] {
        for (scheme, speedup) in [("linux", 1.0), ("ap-mark", 1.5), ("gv", 0.9)] {
            let choices = [("workload", workload), ("policy", policy), ("wakeup", scheme)];
            let m = point("wake", "Wake-up schemes: how many times sooner", "times", &choices, vec![speedup]);
            all.push(m.label("row-axis", "workload policy").label("column-axis", "wakeup"));
        }
    }
    all
}

/// A matrix of three choices of two values each, of which the first matters most.
pub(crate) fn study() -> Vec<Measurement> {
    let of = |i: usize| {
        let [a, b, c] = [i / 4, i / 2 % 2, i % 2].map(|choice| choice.to_string());
        let choices = [("machine.first", &*a), ("second", &b), ("third", &c), ("policy", "CS")];
        let m = point("study", "Study: spins that succeeded", "%", &choices, vec![(60 * (i / 4) + 10 * (i / 2 % 2)) as f64]);
        m.label("column-axis", "policy").label("row-axis", "machine.first second third")
    };
    (0..8).map(of).collect()
}

/// A run of 11 threads that falls into step after 50 of 200 ms: states every 50 us, spins in windows of 5 ms.
pub(crate) fn transition() -> Vec<Measurement> {
    let mut dice = Dice::new(3);
    let mut states = vec![vec![]; 5];
    for sample in 0..4_000_u32 {
        let turn = dice.roll();
        let counts = match (sample < 1_000, sample % 4) {
            (true, _) => [(3.0 * turn).floor(), (2.0 * dice.roll()).floor(), (4.0 * dice.roll()).floor()],
            (false, 0) => [11.0 - (2.0 * turn).floor(), (2.0 * turn).floor(), 0.0],
            (false, _) => [0.0, 0.0, 11.0],
        };
        let native = if sample < 1_000 { 7.0 + (3.0 * turn).floor() } else { 11.0 };
        let counts = [counts[0], counts[1], counts[2], 11.0 - counts.iter().sum::<f64>(), native];
        states.iter_mut().zip(counts).for_each(|(state, count)| state.push(count));
    }
    let what = |what: &str| format!("Figure 4: the transition point: {what}");
    let mut all = Vec::new();
    for (seed, ms) in [("1", Some(50.0)), ("2", Some(125.0)), ("3", None)] {
        let values = ms.into_iter().collect();
        let m = point("fig4", &what("when the first job had fallen into step for good"), "ms", &[("seed", seed)], values);
        let m = m.label("x-axis", "seed");
        all.push(ms.into_iter().fold(m, |m, ms| m.figure("transition_ms", ms)));
    }
    for (state, counts) in ["computing", "spinning", "ready", "blocked", "native"].into_iter().zip(states) {
        let m = point("fig4", &what("threads over time"), "threads", &[("seed", "1"), ("state", state)], counts);
        all.push(m.figure("sample_us", 50.0));
    }
    let rates = (0..60).map(|window| if window < 10 { 20.0 } else { 99.5 }).collect();
    let m =
        point("fig4", &what("spins of the first job that succeeded, over time"), "%", &[("seed", "1"), ("state", "ssr")], rates);
    all.push(m.figure("window_us", 5_000.0));
    all
}

/// Results as `simulate` gives them for several plans.
pub(crate) fn plans() -> Results {
    let mut results = empty("simulate");
    results.measurements = [peaks(), speedups(), schemes(), transition()].concat();
    results
}
