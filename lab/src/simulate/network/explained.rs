//! Why a trial failed, and why nodes wait for ever: what `simulate --explain` and errors tell.
use super::{Machine, Outcome, Study, Summary, TOLERANCE};
use anyhow::{Result, bail};
use foregather_machine::Nanos;
use foregather_sim::net::{Record, told};

/// So many links of a chain are told, the latest first.
const LINES: usize = 10;
/// So many of those who wait for ever.
const STUCK: usize = 5;

/// Why the first trial that failed did: no lines if none has. Plays the study once more, writing down every packet.
///
/// # Errors
/// If the study has no shift that could fail; as [`Study::run`].
pub fn first_failure(study: &Study<Machine>, summary: &Summary) -> Result<Vec<String>> {
    let Some(least) = summary.least_shift else {
        bail!("without a shift no trial can fail; give [trial] a shift, or leave --explain out")
    };
    let failed = summary.trials.iter().position(|trial| trial.slowest > least + TOLERANCE);
    let Some(failed) = failed else { return Ok(vec![]) };
    Ok(explain_trial(study, &study.run_recorded()?, failed))
}

/// Why the slowest node's shift took so long in one of the trials that count, from 0, of a study that was run recorded: who
/// waited for which port, who held it, and what had come between. Times are in microseconds after the first node came.
pub fn explain_trial(study: &Study<Machine>, outcome: &Outcome, trial: usize) -> Vec<String> {
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
    lines.extend(told(&chain, zero, LINES).into_iter().map(|line| format!("  {line}")));
    lines
}

/// Who waits for ever, for what, since when: first those whose packets were lost.
pub(super) fn hang(record: &Record, stuck: &[u32]) -> String {
    let mut all: Vec<_> = stuck.iter().filter_map(|&node| record.waits_for(node)).collect();
    all.sort_by_key(|stuck| stuck.lost.is_none());
    let mut lines: Vec<String> = all.iter().take(STUCK).map(|stuck| format!("\n  {stuck}")).collect();
    if stuck.len() > lines.len() {
        lines.push(format!("\n  and {} more", stuck.len() - lines.len()));
    }
    format!("{} of the nodes wait for ever (times in us):{}", stuck.len(), lines.concat())
}

#[cfg(test)]
mod tests {
    use super::super::{Shift, run};
    use super::*;
    use foregather_barrier::Kind;
    use foregather_message::Protocol;
    use foregather_sim::net::{Faults, Skew, profile};

    fn calibrated() -> Study<Machine> {
        Study {
            model: Machine::Circuits(profile::IPSC860),
            nodes: 32,
            interrupts: Some(profile::CALIBRATED),
            faults: Faults::default(),
            barrier: Some(Kind::Butterfly),
            shift: Some(Shift { protocol: Protocol::Forced, bytes: 32 << 10 }),
            skew: Skew::Uniform(Nanos::from_us(100)),
            resynchronised: true,
            trials: 12,
            skipped: 2,
            seed: 3,
        }
    }

    #[test]
    fn the_first_failure_is_told_from_the_slow_shift_to_its_cause() {
        let study = calibrated();
        let outcome = study.run().unwrap();
        let summary = Summary::of(&study, &outcome);
        let lines = first_failure(&study, &summary).unwrap();
        let failed = summary.trials.iter().position(|t| t.slowest > summary.least_shift.unwrap() + TOLERANCE).unwrap();
        assert!(lines[0].starts_with(&format!("trial {}: the shift of node ", failed + 3)), "{lines:#?}");
        assert!(lines[0].contains(&format!(" took {:.1} us", outcome.trials[failed].slowest().1.as_us())), "{lines:#?}");
        assert!((2..=LINES + 1).contains(&lines.len()), "{lines:#?}");
        let blocked = |line: &String| line.contains("for the receive port of") && line.contains("held by forced");
        assert!(lines.iter().any(blocked), "somebody waited until a shift had passed: {lines:#?}");
    }

    #[test]
    fn what_is_written_down_changes_nothing() {
        let study = calibrated();
        assert_eq!(study.run().unwrap().trials, study.run_recorded().unwrap().trials);
    }

    #[test]
    fn nothing_is_told_if_nothing_failed_and_without_a_shift_nothing_can() {
        let calm = Study { interrupts: None, skew: Skew::Carried, ..calibrated() };
        let summary = Summary::of(&calm, &calm.run().unwrap());
        assert_eq!(first_failure(&calm, &summary).unwrap(), Vec::<String>::new());
        let none = Study { shift: None, ..calm };
        let summary = Summary::of(&none, &none.run().unwrap());
        assert!(first_failure(&none, &summary).unwrap_err().to_string().contains("--explain"));
    }

    #[test]
    fn a_lost_message_is_named_by_the_error() {
        let lossy = Study { faults: Faults { loss_ppm: 20_000, ..Faults::default() }, shift: None, ..calibrated() };
        let error = run(&lossy.on(profile::IPSC860)).unwrap_err().to_string();
        let told: Vec<&str> = error.lines().collect();
        assert!(told[0].ends_with("of the nodes wait for ever (times in us):"), "{error}");
        assert!(told[1].contains(" waits for a null message in slot ") && told[1].ends_with(", was lost"), "{error}");
        assert!(told.len() <= STUCK + 2, "{error}");
    }
}
