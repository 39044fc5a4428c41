//! The simulated scheduler, judged by this machine's kernel in drawn workloads: which share of the kernel's
//! decisions its rules make, too, from the same queues, and what the others have in common.
//!
//! - `draw`: workloads. `judge`: one recording, decision by decision.
mod draw;
mod judge;

use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::SchedulerJudge;
use crate::{Experiment, Measured, calibration::Calibration, machine_file};
use anyhow::{Result, ensure};
use foregather_host::watched::decisions::SchedulerWatch;
use foregather_host::{affinity, clock};
use foregather_results::table::Shows::{Figure, Label};
use foregather_results::table::{Heading, ResultTable, texts};
use foregather_results::{Measurement, Results};
use judge::{DecisionKind, JudgedDecision, judge};
use std::collections::BTreeMap;

/// What ids of shares begin with, of one kind of decision or of a group that has a bar.
const SHARE: &str = "scheduler/share/";
/// What ids of kinds of differences begin with.
const DIFFERENCE: &str = "scheduler/difference/";
const SHARES: [Heading; 5] = [
    ("processors", Label("processors")),
    ("decisions", Label("kind")),
    ("judged", Figure("judged")),
    ("equal %", Figure("equal_percent")),
    ("bar %", Figure("bar_percent")),
];
const DIFFERENCES: [Heading; 4] = [
    ("processors", Label("processors")),
    ("decision", Label("kind")),
    ("difference", Label("class")),
    ("count", Figure("count")),
];
/// The bars: next threads on one processor, and places on two.
const NEXT_PERCENT: f64 = 90.0;
const PLACE_PERCENT: f64 = 75.0;

impl Experiment for SchedulerJudge {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let seed = self.draw.unwrap_or_else(clock::unix_seconds);
        let cpus = affinity::allowed();
        if let Err(error) = SchedulerWatch::open(&cpus) {
            let note = format!("not run here: {error}");
            return Ok(Measured { notes: vec![note], ..Measured::default() });
        }
        let costs = machine_file::load_or_measure()?;
        let rules = Calibration::of(&costs).rules();
        let most = self.processors.map_or(cpus.len().min(2), |processors| processors as usize);
        ensure!(most <= cpus.len(), "only {} processors are allowed, not {most}", cpus.len());
        // One processor and two in turn, so that a partial run has both.
        let widths: Vec<usize> = if self.processors.is_some() { vec![most] } else { (1..=most).collect() };
        let cells: Vec<_> = (0..u64::from(self.draws))
            .map(|number| {
                let width = widths[number as usize % widths.len()];
                draw::workload(seed.wrapping_mul(1_000_003).wrapping_add(number), &cpus[..width], self.ms * 1_000_000)
            })
            .collect();
        let mut matrix = CellLoop::new("scheduler", cells.len(), 1, TurnOrder::Alternating, quiet);
        let mut tally = DecisionTally::default();
        let (mut unusable, mut together) = (0, false);
        for (number, cell) in cells.iter().enumerate() {
            let name = |_: &()| format!("workload {number} on {} processors", cell.cpus.len());
            matrix.row(BackgroundOfRow::default(), &[()], name, |(), _| {
                let Some(recording) = CellProgram::default().run_to_end(cell, Within::default())? else { return Ok(None) };
                together |= !recording.separate;
                match judge(cell, &recording, &rules) {
                    Ok(decisions) => tally.add(cell.cpus.len(), &decisions),
                    Err(_) => unusable += 1,
                }
                Ok(Some(()))
            })?;
        }
        let mut notes = vec![format!("{} workloads drawn by seed {seed}; `--draw {seed}` draws them again", cells.len())];
        if unusable > 0 {
            notes.push(format!("{unusable} workloads were not judged: the kernel lost records of them"));
        }
        if together {
            notes.push("threads of other programs were in the same queues (no autogroups here), and are not judged".into());
        }
        matrix.found.notes.splice(0..0, notes);
        matrix.found.measurements = tally.measurements();
        matrix.found.failed = self.check.then(|| missed(&matrix.found.measurements)).flatten();
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        let of = |prefix: &'static str| results.measurements.iter().filter(move |m| m.id.starts_with(prefix));
        texts([ResultTable::of(&SHARES, of(SHARE)), ResultTable::of(&DIFFERENCES, of(DIFFERENCE))])
    }
}

/// Decisions on that many processors, of that kind, with that difference or none, and how many there were.
#[derive(Default)]
struct DecisionTally(BTreeMap<(usize, DecisionKind, Option<&'static str>), u64>);

impl DecisionTally {
    fn add(&mut self, processors: usize, decisions: &[JudgedDecision]) {
        for JudgedDecision { kind, difference } in decisions {
            *self.0.entry((processors, *kind, *difference)).or_default() += 1;
        }
    }

    /// How many decisions were judged, and how many of them are equal.
    fn count(&self, processors: usize, of: impl Fn(DecisionKind) -> bool) -> [u64; 2] {
        let mine = self.0.iter().filter(|((width, kind, _), _)| *width == processors && of(*kind));
        mine.fold([0; 2], |[all, equal], ((.., difference), count)| {
            [all + count, equal + if difference.is_none() { *count } else { 0 }]
        })
    }

    fn measurements(&self) -> Vec<Measurement> {
        let mut found = vec![];
        for processors in [1, 2] {
            let bar = |one: f64| if processors == 1 { one } else { f64::NAN };
            let mut share = |kind: &str, bar: f64, of: &dyn Fn(DecisionKind) -> bool| {
                let [judged, equal] = self.count(processors, of);
                if judged > 0 {
                    found.push(share(processors, kind, (judged, equal), bar));
                }
            };
            share("all next threads", bar(NEXT_PERCENT), &DecisionKind::is_next);
            share("all next threads and stays", bar(NEXT_PERCENT), &|kind| kind.is_next() || kind.is_stay());
            for kind in DecisionKind::ALL {
                let bar = if kind == DecisionKind::Place { PLACE_PERCENT } else { f64::NAN };
                share(kind.name(), bar, &|other| other == kind);
            }
        }
        for (&(processors, kind, difference), &count) in &self.0 {
            if let Some(class) = difference {
                let id = format!("{DIFFERENCE}{processors}/{}/{class}", kind.name());
                let what = "decisions of the kernel that the simulated rules make otherwise";
                let m = Measurement::from_values(id, what, "decisions", vec![count as f64]).label("class", class);
                found
                    .push(m.label("processors", processors.to_string()).label("kind", kind.name()).figure("count", count as f64));
            }
        }
        found
    }
}

fn share(processors: usize, kind: &str, (judged, equal): (u64, u64), bar: f64) -> Measurement {
    let percent = equal as f64 * 100.0 / judged as f64;
    let what = "share of the kernel's decisions that the simulated rules make, too";
    Measurement::from_values(format!("{SHARE}{processors}/{kind}"), what, "%", vec![percent])
        .label("processors", processors.to_string())
        .label("kind", kind)
        .figure("judged", judged as f64)
        .figure("equal_percent", percent)
        .figure("bar_percent", bar)
}

/// The shares below their bars, in words.
fn missed(measurements: &[Measurement]) -> Option<String> {
    let below = measurements.iter().filter(|m| m.number("equal_percent") < m.number("bar_percent"));
    let texts: Vec<String> = below
        .map(|m| {
            format!("{} on {}: {:.1} %, below {} %", m.text("kind"), m.text("processors"), m.median(), m.number("bar_percent"))
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_bars_and_differences_counts() {
        let (kind, other) = (DecisionKind::NextAtTick, DecisionKind::Place);
        let decision = |kind, difference| JudgedDecision { kind, difference };
        let mut tally = DecisionTally::default();
        let all = [
            decision(kind, None),
            decision(kind, None),
            decision(kind, Some(judge::CLOSE_CALL)),
            decision(DecisionKind::StayAtTick, None),
        ];
        tally.add(1, &all);
        tally.add(2, &[decision(other, Some(judge::BOTH_BUSY)), decision(other, None)]);
        let found = tally.measurements();
        let of = |id: &str| found.iter().find(|m| m.id == format!("scheduler/{id}")).unwrap();
        assert_eq!(of("share/1/all next threads").figures["equal_percent"], 66.6667);
        assert_eq!(of("share/1/all next threads and stays").figures["equal_percent"], 75.0);
        assert_eq!(of("share/2/place").figures["equal_percent"], 50.0);
        assert_eq!(of(&format!("difference/2/place/{}", judge::BOTH_BUSY)).figures["count"], 1.0);
        let missed = missed(&found).unwrap();
        assert!(missed.contains("all next threads on 1: 66.7 %, below 90 %") && missed.contains("place on 2"), "{missed}");
        assert_eq!(super::missed(&DecisionTally::default().measurements()), None);
    }
}
