//! Figures 1 and 2 of Tsafrir & Feitelson 2002: jobs fall into two sets that run by turns (§3); how little of
//! that the scheduler changes for homogeneous sets (§5.1); figures 3 and 4 (§4.1): peaks at the multiples of
//! a divisor, and the moment at which a job falls into step.
use crate::curves::{Curves, curves, each, falls_below, mean, number, parted, plan, runs, varied};
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_sim::smp::{Granularity, Job, MachineSpec, Record, Sample, Stop, Study, run, transition};
use foregather_simulate::{Ran, points};
use foregather_wait::Policy;

const SIZES: [&str; 4] = ["4 fine", "8 fine", "10 fine", "16 fine"];
const MEDIUM: [&str; 3] = ["4 medium", "10 medium", "16 medium"];

pub(super) fn fig1(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("fig1", trial, found)?;
    let series = |name: &str, figure: &str| all.with(&[("jobs", name)]).over_load(figure);
    let from = |names: &[&str], least: f64, figure: &str| -> Vec<f64> {
        let points = names.iter().flat_map(|name| series(name, figure));
        points.filter(|p| p.0 >= least).map(|p| p.1).collect()
    };
    found.answer("fig1-fine-plateau", each(from(&SIZES, 80.0, "ssr_percent"), "sizes 4 to 16 from 80 threads on"));
    found.answer("fig1-medium-plateau", each(from(&MEDIUM, 80.0, "ssr_percent"), "sizes 4 to 16 from 80 threads on"));
    let moves: Vec<f64> = SIZES.iter().chain(&MEDIUM).map(|name| spread(&from(&[name], 96.0, "ssr_percent"))).collect();
    found.answer("fig1-load-invariant", each(moves, "how far each series moves from 96 threads on"));
    let at_40 = |name: &&str| series(name, "ssr_percent").into_iter().find(|p| p.0 == 40.0).map(|p| p.1);
    let above: Vec<f64> = SIZES[..3].iter().filter_map(at_40).collect();
    found.answer("fig1-intermediate-load", each(above, "4, 8 and 10 threads"));
    let mean_over_sizes: Vec<(f64, f64)> = series(SIZES[0], "ssr_percent")
        .iter()
        .map(|(load, _)| {
            let at = |name: &&str| series(name, "ssr_percent").into_iter().find(|p| p.0 == *load).map(|p| p.1);
            (*load, mean(&SIZES.iter().filter_map(at).collect::<Vec<_>>()))
        })
        .collect();
    let crossing = falls_below(&mean_over_sizes, 50.0).unwrap_or(f64::NAN);
    found.answer(
        "fig1-reasonable-up-to-twice",
        number(crossing / 32.0, format!("the mean of fine sizes 4 to 16 falls below 50 % at {crossing:.0} threads")),
    );
    let index = mean(&from(&SIZES, 64.0, "alternation"));
    found.answer("threads-alternate", number(index, "mean over fine sizes 4 to 16 from 64 threads on"));
    found.answer("half-of-a-full-machine", each(from(&SIZES, 64.0, "compute_share"), "fine sizes 4 to 16 from 64 threads on"));
    Ok(())
}

fn spread(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn fig2(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("fig2", trial, found)?;
    let state = |name| all.with(&[("state", name)]).values();
    let running: Vec<f64> = state("computing").iter().zip(state("spinning")).map(|(a, b)| a + b).collect();
    let late = &running[running.len() / 2..];
    let together = late.iter().filter(|&&threads| threads >= 10.0).count() as f64 / late.len() as f64;
    let index = all.with(&[]).mean("alternation");
    found.answer("fig2-two-sets", number(together, "samples of the second half with all ten running"));
    found.answer("fig2-success-follows-failure", number(index, "mean over all jobs"));
    Ok(())
}

/// The start of many seeds: which threads have a processor at time zero.
pub(super) fn initial_placement(_: &Trial, found: &mut Findings) -> Result<()> {
    const SEEDS: u64 = 4_000;
    let job = Job::meeting("job", 4, 1, Granularity::Fine.normal(Nanos::from_us(6), 0.15), Policy::Block);
    let mut study = Study {
        machine: MachineSpec::tsafrir2002(),
        jobs: vec![job, Job::load("load", 44)],
        stop: Stop::Limit,
        limit: Nanos::from_us(10),
        seed: 0,
        shuffled: true,
        record: Record { sample: Nanos::from_us(5), ..Record::NOTHING },
    };
    let mut together = 0;
    for seed in 0..SEEDS {
        study.seed = seed;
        let outcome = run(&study, || true).map_err(anyhow::Error::msg)?;
        // The second sample: at 5 us every processor still switches to its first thread.
        together += u64::from(outcome.recorded.samples[1].states[0] == 4);
    }
    found.answer("placed-together-by-chance", number(together as f64 / SEEDS as f64, format!("of {SEEDS} random starts")));
    Ok(())
}

pub(super) fn six(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("homogeneous", trial, found)?;
    let at = |scheduler: &str, policy: &str, threads: &str, load: f64| {
        let series = all.with(&[("scheduler", scheduler), ("policy", policy), ("threads", threads)]).over_load("ssr_percent");
        series.into_iter().find(|p| p.0 == load).map_or(f64::NAN, |p| p.1)
    };
    let ratio = mean(&["4", "10"].map(|threads| at("Linux 2.4", "CS", threads, 96.0) / at("round robin", "CS", threads, 96.0)));
    found.answer("six-homogeneous-like-rr", number(ratio, "jobs of 4 and 10 threads, spinning CS"));
    let nearly_twice = ["4", "10"].map(|threads| at("Linux 2.4", "2CS+", threads, 60.0));
    found.answer("six-homogeneous-up-to-twice", each(nearly_twice.to_vec(), "4 and 10 threads, 60 in all, 2CS+"));

    let all = curves("six", trial, found)?;
    let rate = |workload| all.with(&[("scheduler", "Linux 2.4"), ("workload", workload), ("load", "96")]).mean("ssr_percent");
    let [single, heterogeneous, homogeneous] = ["single", "heterogeneous", "homogeneous"].map(rate);
    let got = format!("{single:.0}, {heterogeneous:.0}, {homogeneous:.0} % for single, heterogeneous, homogeneous");
    found.answer("six-linux-favours-fine-grain", each(vec![single - heterogeneous, heterogeneous - homogeneous], got));
    Ok(())
}

/// Windows from this rate of successful spins on are in step.
const IN_STEP_PERCENT: f64 = 95.0;

/// Where figure 3 has its peaks.
const MULTIPLES: &str = "{ from = 48, to = 208, step = 16 }";

pub(super) fn fig3(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("fig3", trial, found)?;
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
    Ok(())
}

/// Job and machine, and of what the loads with peaks are multiples: of the smallest divisor that is not less
/// than the job.
const CASES: [(&str, f64); 4] = [("7 of 32", 8.0), ("11 of 32", 16.0), ("15 of 32", 16.0), ("11 of 64", 16.0)];

pub(super) fn divisors(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("divisors", trial, found)?;
    let rise = |(case, divisor): (&str, f64), all: &Curves| {
        let (peaks, others) = parted(&all.with(&[("case", case)]).over_load("ssr_percent"), |load| load % divisor == 0.0);
        mean(&peaks) - mean(&others)
    };
    let rises = CASES.map(|case| rise(case, &all));
    let got =
        CASES.iter().zip(rises).map(|((case, divisor), rise)| format!("{case}: {rise:.0} points at multiples of {divisor}"));
    let got = got.collect::<Vec<_>>().join(", ");
    found.answer("peaks-follow-divisors", each(rises.to_vec(), got));
    Ok(())
}

pub(super) fn fig4(trial: &Trial, found: &mut Findings) -> Result<()> {
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
    Ok(())
}
