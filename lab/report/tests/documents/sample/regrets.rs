//! Made-up spaces of rows: drawn in simulation, and drawn on a machine.

use super::{Dice, empty};
use foregather_results::{Measurement, Results};

const STRANGERS: [&str; 7] =
    ["none", "1 hog", "a hog a processor", "bursts of 1 ms", "bursts of 20 ms", "a second team", "wakes"];

/// A row for each of seven strangers, five sizes of team and the first `machines` of five machines: the
/// adaptive policy loses more on more processors and with more members, and least beside no stranger.
pub(crate) fn simulated(machines: usize) -> Vec<Measurement> {
    let mut all = Vec::new();
    let mut dice = Dice::new(21);
    for (i, processors) in ["2", "4", "16", "64", "256"].into_iter().take(machines).enumerate() {
        for (j, members) in ["1x", "1.25x", "1.5x", "2x", "4x"].into_iter().enumerate() {
            for (k, strangers) in STRANGERS.into_iter().enumerate() {
                let step = ["1 us", "100 us", "0 us", "20 us", "5 us"][(i + j + k) % 5];
                let lost = 0.04 * i as f64 + 0.02 * j as f64 + if k == 0 { 0.0 } else { 0.2 * dice.roll().powi(2) };
                for (policy, regret) in [("always block", lost.max(0.02)), ("yield", 0.0), ("adaptive", lost)] {
                    let labels = [
                        ("processors", processors),
                        ("members", members),
                        ("strangers", strangers),
                        ("step", step),
                        ("waiting", policy),
                    ];
                    let id: String = labels.iter().map(|(name, choice)| format!("/{name}={choice}")).collect();
                    let m = Measurement::from_values(format!("simulate/space{id}"), "Space: time lost", "regret", vec![regret]);
                    let m = labels.iter().fold(m.label("plan", "space"), |m, (name, choice)| m.label(name, *choice));
                    let m = m.label("row-axis", "processors members strangers").label("column-axis", "waiting");
                    all.push(m.label("best-axis", "waiting"));
                }
            }
        }
    }
    all
}

/// Results as `measure regret` gives them: our column in three rows of two classes, and another one.
pub(crate) fn judged() -> Results {
    let mut results = empty("measure regret");
    for (row, class, [ratio, low, high], block_low, verdict) in [
        ("single, 2t, 5 us", "idle machine, threads fit", [1.0, 0.9, 1.1], 0.6, ""),
        ("critical, 7t + 2 hogs, 20 us", "background load, oversubscribed", [2.4, 1.7, 3.1], 1.2, "above 1.5, block above 1.15"),
        ("nested, 2 teams of 3t + 1 bursts:5, 0 us", "background load, oversubscribed", [1.3, 0.8, 1.9], 1.0, ""),
    ] {
        let m = |column: &str, times: f64| {
            let m =
                Measurement::from_values(format!("regret/{row}/{column}"), "one episode", "us", vec![9.0 * times, 10.0 * times]);
            m.label("row", row).label("class", class).label("column", column).label("episodes", "constructs of OpenMP")
        };
        let ours = m("ours", ratio).label("against", "gomp-passive").label("verdict", verdict).figure("floor", 1.04);
        let ours = ours.figure("ratio", ratio).figure("low", low).figure("high", high).figure("block_low", block_low);
        results.measurements.push(ours);
        results.measurements.push(m("gomp-passive", 1.0).label("against", "ours").figure("ratio", 1.0 / ratio));
    }
    results
}

/// Results as `measure programs hgb` gives them.
pub(crate) fn of_runtimes() -> Results {
    let mut results = empty("measure programs");
    for (threads, hogs, runner, seconds, regret) in [
        ("2", "0", "foregather", 0.15, 1.07),
        ("2", "0", "gomp-passive", 1.4, 10.0),
        ("2", "0", "omp", 0.14, 1.0),
        ("4", "1", "foregather", 0.52, 1.3),
        ("4", "1", "gomp-passive", 0.4, 1.0),
        ("4", "1", "omp", 15.0, 37.5),
    ] {
        let id = format!("programs/hgb/{threads}t/{hogs}h/{runner}");
        let m = Measurement::from_values(id, "a program", "s", vec![seconds * 0.9, seconds, seconds * 1.2]);
        let m = m.label("program", "hgb").label("threads", threads).label("hogs", hogs).label("runner", runner);
        results.measurements.push(m.figure("regret", regret));
    }
    results
}

/// Judged rows and programs whose labels end in that text.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let (mut rows, mut programs) = (judged().measurements, of_runtimes().measurements);
    for m in &mut rows {
        ["row", "class", "against"].into_iter().for_each(|name| *m.labels.entry(name.to_owned()).or_default() += evil);
    }
    programs.iter_mut().for_each(|m| *m.labels.entry("program".to_owned()).or_default() += evil);
    rows.into_iter().chain(programs).collect()
}

/// Results as `measure barriers --draw` gives them: the adaptive waiter's shares in eight rows, and a peer
/// beside it.
pub(crate) fn drawn() -> Results {
    let mut results = empty("measure barriers");
    for (row, class, share, oracle) in [
        ("5t + 1 hog log-normal, 10 us", "drawn crowded", 0.25, 0.2),
        ("7t + 3 hogs constant, 1 us", "drawn crowded", 0.9, 0.8),
        ("12t + 2 bursts:20 bimodal, 0 us", "drawn crowded", 1.4, 1.1),
        ("2t + 1 team slow member, 100 us", "drawn disturbed", 1.0, 0.98),
        ("2t + 2 wakes exponential, 5 us", "drawn disturbed", 0.97, 0.9),
        ("2t + 4 bursts:1 constant, 35 us", "drawn disturbed", 1.1, 0.7),
        ("3t constant, 2 us", "drawn alone", 1.2, 1.0),
        ("16t log-normal, 75 us", "drawn alone", 1.0, 1.0),
    ] {
        for (waiter, kind, share, oracle) in
            [("central/adaptive", "ours", share, oracle), ("libomp", "peer", 1.0, oracle / share)]
        {
            let m =
                Measurement::from_values(format!("barriers/{row}/{waiter}"), "episodes passed", "episodes/s", vec![1e5 * oracle]);
            let m = m
                .label("row", row)
                .label("class", class)
                .label("waiter", waiter)
                .label("kind", kind)
                .label("oracle", "central/block");
            results.measurements.push(m.figure("share", share).figure("oracle_share", oracle));
        }
    }
    results
}
