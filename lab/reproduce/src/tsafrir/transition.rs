//! Figures 3 and 4 of Tsafrir & Feitelson 2002 (§4.1): peaks at the multiples of a divisor, and the moment at which a job
//! falls into step.
use crate::curves::{Curves, curves, each, mean, number, parted, plan, runs, varied};
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_sim::smp::{Sample, transition};
use foregather_simulate::{Ran, points};

/// Windows from this rate of successful spins on are in step.
const IN_STEP_PERCENT: f64 = 95.0;

/// Where figure 3 has its peaks.
const MULTIPLES: &str = "{ from = 48, to = 208, step = 16 }";

pub(super) fn fig3(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("fig3", trial, &mut found)?;
    let points = all.with(&[]).over_load("ssr_percent");
    let beyond: Vec<_> = points.into_iter().filter(|p| p.0 > 32.0).collect();
    let (peaks, others) = parted(&beyond, |load| load % 16.0 == 0.0);
    let (peak, base) = (mean(&peaks), mean(&others));
    found.answer("fig3-peaks", number(peak, format!("mean of {} multiples of 16", peaks.len())));
    found.answer("fig3-base", number(base, format!("mean of {} other loads", others.len())));
    found.answer("fig3-peaks-stand-out", number(peak - base, format!("{peak:.0} % against {base:.0} %")));
    let without = varied("fig3", trial, &[("sweep.load", MULTIPLES), ("machine.linux24.bonus-ticks", "0")])?;
    let bare = without.with(&[]).mean("ssr_percent");
    found.answer("fig3-needs-the-bonus", number(peak - bare, format!("{peak:.0} % with the bonus, {bare:.0} % without")));
    Ok(found)
}

/// Job and machine, and of what the loads with peaks are multiples: of the smallest divisor that is not less than the job.
const CASES: [(&str, f64); 4] = [("7 of 32", 8.0), ("11 of 32", 16.0), ("15 of 32", 16.0), ("11 of 64", 16.0)];

pub(super) fn divisors(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("divisors", trial, &mut found)?;
    let rise = |(case, divisor): (&str, f64), all: &Curves| {
        let (peaks, others) = parted(&all.with(&[("case", case)]).over_load("ssr_percent"), |load| load % divisor == 0.0);
        mean(&peaks) - mean(&others)
    };
    let rises = CASES.map(|case| rise(case, &all));
    let got =
        CASES.iter().zip(rises).map(|((case, divisor), rise)| format!("{case}: {rise:.0} points at multiples of {divisor}"));
    let got = got.collect::<Vec<_>>().join(", ");
    found.answer("peaks-follow-divisors", each(rises.to_vec(), got));
    Ok(found)
}

pub(super) fn fig4(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let plan = plan("fig4", trial)?;
    let points = runs(&plan, trial)?;
    found.measurements = points::measurements(&plan, &points);
    // Strips of one seed are enough to look at.
    found.measurements.retain(|m| !m.labels.contains_key("state") || m.labels.get("seed").is_some_and(|seed| seed == "1"));
    let (mut seeds, mut in_step, mut grown) = (0_u32, 0_u32, 0_u32);
    let (mut together, mut together_before) = (Vec::new(), Vec::new());
    for (study, outcome) in points.iter().flat_map(|point| &point.runs).filter_map(Ran::smp) {
        seeds += 1;
        let (record, recorded) = (study.record, &outcome.recorded);
        let Some(at) = transition(&recorded.windows, IN_STEP_PERCENT) else { continue };
        in_step += 1;
        let first = ((at as u64 + 1) * record.window.0 / record.sample.0) as usize;
        let (before, after) = recorded.samples.split_at(first.min(recorded.samples.len()));
        grown += u32::from(before.iter().any(|sample| sample.native == study.jobs[0].threads));
        // Computing and spinning are both running.
        let as_one = |states: [u32; 4]| [states[0] + states[1], states[2], states[3]].contains(&study.jobs[0].threads);
        let share =
            |samples: &[Sample]| samples.iter().filter(|sample| as_one(sample.states)).count() as f64 / samples.len() as f64;
        together.push(share(after));
        together_before.push(share(before));
    }
    found.answer("fig4-transition", number(f64::from(in_step) / f64::from(seeds), format!("{in_step} of {seeds} seeds")));
    found.answer(
        "fig4-together",
        number(
            mean(&together),
            format!("of the samples after the transition, {:.2} before; mean of the seeds", mean(&together_before)),
        ),
    );
    let got = format!("{grown} of {in_step} seeds with a transition");
    found.answer("native-set-grows-first", number(f64::from(grown) / f64::from(in_step), got));
    Ok(found)
}
