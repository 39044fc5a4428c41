//! Why a trial failed, and why nodes wait forever: what `simulate --explain` and errors tell.
use super::{Interconnect, Study, StudyResults, StudySummary, TOLERANCE};
use crate::{Point, Ran};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_sim::net::{Record, describe};

/// Of a chain, at most this number of links is told, the latest first.
const LINES: usize = 10;
/// Of a plan, at most this number of points is told.
const POINTS: usize = 3;
/// At most this many of the nodes that wait forever are reported.
const STUCK: usize = 5;

/// Why the first trial that failed did, for the first points of a plan that have one.
///
/// # Errors
/// As [`Study::run`].
pub fn failures(points: &[Point]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let failed = |ran: &Ran| ran.network().and_then(|(study, summary)| Some((study.clone(), first_failed(summary)?, ran.seed)));
    let failed: Vec<_> = points.iter().filter_map(|point| Some((point, point.runs.iter().find_map(failed)?))).collect();
    for (point, (study, trial, seed)) in failed.iter().take(POINTS) {
        let labels = point.labels.iter().filter(|(name, _)| name != "seed").map(|(name, label)| format!("{name} {label}, "));
        lines.push(format!("{}seed {seed}", labels.collect::<String>()));
        lines.extend(explain_trial(study, &study.run_recorded()?, *trial).into_iter().map(|line| format!("  {line}")));
    }
    match failed.len() {
        0 => lines.push("no shift took longer than it may, so there is nothing to explain".to_owned()),
        all if all > POINTS => lines.push(format!("and in {} more points some trial failed", all - POINTS)),
        _ => {}
    }
    Ok(lines)
}

/// The first of the trials that count whose shift took too long.
fn first_failed(summary: &StudySummary) -> Option<usize> {
    let least = summary.least_shift?;
    summary.trials.iter().position(|trial| trial.slowest > least + TOLERANCE)
}

/// Why the slowest node's shift took so long in one of the trials that count, from 0, of a study that was run
/// recorded: which node waited for which port, which one held it, and what had come between. Times are in
/// microseconds after the first node came.
pub fn explain_trial(study: &Study<Interconnect>, outcome: &StudyResults, trial: usize) -> Vec<String> {
    let Some(seen) = outcome.trials.get(trial) else { return vec![] };
    let zero = seen.entered.iter().copied().min().unwrap_or(Nanos::ZERO);
    let (node, took) = seen.slowest();
    let us = |time: Nanos| format!("{:.1}", time.as_us());
    let (left, done) = (us(seen.left[node] - zero), us(seen.done[node] - zero));
    let least = study.least_shift().map_or(String::new(), |least| format!(", where {} us are the least", us(least)));
    let number = trial + study.skipped as usize + 1;
    let mut lines =
        vec![format!("trial {number}: the shift of node {node} took {} us, from {left} to {done} us{least}", us(took))];
    let chain = outcome.record.explain(node as u32, zero, seen.done[node]);
    lines.extend(describe(&chain, zero, LINES).into_iter().map(|line| format!("  {line}")));
    lines
}

/// Which nodes wait forever, for what, since when: first those whose packets were lost.
pub(super) fn hang(record: &Record, stuck: &[u32]) -> String {
    let mut all: Vec<_> = stuck.iter().filter_map(|&node| record.waits_for(node)).collect();
    all.sort_by_key(|stuck| stuck.lost.is_none());
    let mut lines: Vec<String> = all.iter().take(STUCK).map(|stuck| format!("\n  {stuck}")).collect();
    if stuck.len() > lines.len() {
        lines.push(format!("\n  and {} more", stuck.len() - lines.len()));
    }
    format!("{} of the nodes wait forever (times in us):{}", stuck.len(), lines.concat())
}

#[cfg(test)]
mod tests {
    use super::super::{Shift, run};
    use super::*;
    use crate::RunResult;
    use foregather_barrier::Algorithm;
    use foregather_message::Protocol;
    use foregather_sim::net::{Faults, Skew, profile};

    fn calibrated() -> Study<Interconnect> {
        Study {
            model: Interconnect::Circuits(profile::IPSC860),
            nodes: 32,
            interrupts: Some(profile::CALIBRATED),
            faults: Faults::default(),
            barrier: Some(Algorithm::Butterfly),
            shift: Some(Shift { protocol: Protocol::Forced, bytes: 32 << 10 }),
            skew: Skew::Uniform(Nanos::from_us(100)),
            resynchronised: true,
            trials: 12,
            skipped: 2,
            seed: 3,
        }
    }

    fn point(study: &Study<Interconnect>) -> Point {
        let summary = StudySummary::of(study, &study.run().unwrap());
        let played = RunResult::Network(Box::new(study.clone()), summary);
        let labels = vec![("barrier".to_owned(), "gsync".to_owned()), ("seed".to_owned(), "3".to_owned())];
        Point { number: 0, labels, runs: vec![Ran { seed: study.seed, played }] }
    }

    #[test]
    fn the_first_failure_is_told_from_the_slow_shift_to_its_cause() {
        let study = calibrated();
        let outcome = study.run().unwrap();
        let failed = first_failed(&StudySummary::of(&study, &outcome)).unwrap();
        let lines = failures(&[point(&study)]).unwrap();
        assert_eq!(lines[0], "barrier gsync, seed 3");
        assert!(lines[1].starts_with(&format!("  trial {}: the shift of node ", failed + 3)), "{lines:#?}");
        assert!(lines[1].contains(&format!(" took {:.1} us", outcome.trials[failed].slowest().1.as_us())), "{lines:#?}");
        assert!((3..=LINES + 2).contains(&lines.len()), "{lines:#?}");
        let blocked = |line: &String| line.contains("for the receive port of") && line.contains("held by forced");
        assert!(lines.iter().any(blocked), "somebody waited until a shift had passed: {lines:#?}");
    }

    #[test]
    fn few_points_are_explained_and_the_others_counted() {
        let points: Vec<Point> = (0..POINTS + 2).map(|_| point(&calibrated())).collect();
        let lines = failures(&points).unwrap();
        assert_eq!(lines.iter().filter(|line| line.starts_with("barrier")).count(), POINTS);
        assert_eq!(lines.last().unwrap(), "and in 2 more points some trial failed");
    }

    #[test]
    fn what_is_written_down_changes_nothing() {
        let study = calibrated();
        assert_eq!(study.run().unwrap().trials, study.run_recorded().unwrap().trials);
    }

    #[test]
    fn nothing_is_told_if_nothing_failed_and_without_a_shift_nothing_can() {
        let calm = Study { interrupts: None, skew: Skew::Carried, ..calibrated() };
        let none = Study { shift: None, ..calibrated() };
        for study in [calm, none] {
            assert_eq!(failures(&[point(&study)]).unwrap(), ["no shift took longer than it may, so there is nothing to explain"]);
        }
    }

    #[test]
    fn a_lost_message_is_named_by_the_error() {
        let lossy = Study { faults: Faults { loss_ppm: 20_000, ..Faults::default() }, shift: None, ..calibrated() };
        let error = run(&lossy.on(profile::IPSC860)).unwrap_err().to_string();
        let told: Vec<&str> = error.lines().collect();
        assert!(told[0].ends_with("of the nodes wait forever (times in us):"), "{error}");
        assert!(told[1].contains(" waits for a null message in slot ") && told[1].ends_with(", was lost"), "{error}");
        assert!(told.len() <= STUCK + 2, "{error}");
    }
}
