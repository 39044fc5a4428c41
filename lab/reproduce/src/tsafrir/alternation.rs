//! Figures 1 and 2 of Tsafrir & Feitelson 2002: jobs fall into two sets that run by turns (§3); how little of
//! that the scheduler changes for homogeneous sets (§5.1); figures 3 and 4 (§4.1): peaks at the multiples of
//! a divisor, and the moment at which a job falls into step.
use crate::curves::{Curves, changed, curves, falls_below, mean, number, parted, plan, runs, sampled, varied};
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_sim::smp::{Granularity, Job, MachineSpec, Outcome, Record, Sample, Stop, Study, Window, run, transition};
use foregather_simulate::{Ran, points};
use foregather_wait::Policy;

const SIZES: [&str; 4] = ["4 fine", "8 fine", "10 fine", "16 fine"];
const MEDIUM: [&str; 3] = ["4 medium", "10 medium", "16 medium"];

pub(super) fn fig1(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("fig1", trial, found)?;
    let late = "sizes 4 to 16 from 80 threads on";
    let fine = |all: &Curves| from(all, &SIZES, 80.0, "ssr_percent");
    found.answer("fig1-fine-plateau", all.each(fine, late));
    found.answer("fig1-medium-plateau", all.each(|all| from(all, &MEDIUM, 80.0, "ssr_percent"), late));
    found.answer("fig1-below-half-beyond-twice", all.each(|all| from(all, &SIZES, 64.5, "ssr_percent"), "fine sizes 4 to 16"));
    let moves = |all: &Curves| SIZES.iter().chain(&MEDIUM).map(|name| spread(&from(all, &[name], 96.0, "ssr_percent"))).collect();
    found.answer("fig1-load-invariant", all.each(moves, "how far each series moves from 96 threads on"));
    let at = |all: &Curves, names: &[&str], load: f64| -> Vec<f64> {
        let points = names.iter().flat_map(|name| series(all, name, "ssr_percent"));
        points.filter(|p| p.0 == load).map(|p| p.1).collect()
    };
    found.answer("fig1-intermediate-load", all.each(|all| at(all, &SIZES[..3], 40.0), "4, 8 and 10 threads"));
    let crossing = |all: &Curves| {
        let loads = series(all, SIZES[0], "ssr_percent").into_iter().map(|p| p.0);
        let means: Vec<(f64, f64)> = loads.map(|load| (load, mean(&at(all, &SIZES, load)))).collect();
        falls_below(&means, 50.0).unwrap_or(f64::NAN)
    };
    let why = format!("the mean of fine sizes 4 to 16 falls below 50 % at {:.0} threads", crossing(&all));
    found.answer("fig1-reasonable-up-to-twice", all.number(|all| crossing(all) / 32.0, why));
    let index = |all: &Curves| mean(&from(all, &SIZES, 64.0, "alternation"));
    found.answer("threads-alternate", all.number(index, "mean over fine sizes 4 to 16 from 64 threads on"));
    let share = |all: &Curves| from(all, &SIZES, 64.0, "compute_share");
    found.answer("half-of-a-full-machine", all.each(share, "fine sizes 4 to 16 from 64 threads on"));
    Ok(())
}

/// A job's curve in figure 1.
fn series(all: &Curves, name: &str, figure: &str) -> Vec<(f64, f64)> {
    all.with(&[("jobs", name)]).over_load(figure)
}

/// The values of several curves from a load on.
fn from(all: &Curves, names: &[&str], least: f64, figure: &str) -> Vec<f64> {
    let points = names.iter().flat_map(|name| series(all, name, figure));
    points.filter(|p| p.0 >= least).map(|p| p.1).collect()
}

fn spread(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn fig2(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("fig2", trial, found)?;
    let state = |name| all.with(&[("state", name)]).values();
    let running: Vec<f64> = state("computing").iter().zip(state("spinning")).map(|(a, b)| a + b).collect();
    let late = &running[running.len() / 2..];
    let together = late.iter().filter(|&&threads| threads >= 10.0).count() as f64 / late.len() as f64;
    let index = |all: &Curves| all.with(&[]).mean("alternation");
    found.answer("fig2-two-sets", number(together, "samples of the second half with all ten running"));
    found.answer("fig2-success-follows-failure", all.number(index, "mean over all jobs"));
    Ok(())
}

/// The start of many seeds: which threads have a processor at time zero.
pub(super) fn initial_placement(_: &TrialOptions, found: &mut Findings) -> Result<()> {
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
    let mut together = Vec::new();
    for seed in 0..SEEDS {
        study.seed = seed;
        let outcome = run(&study, || true).map_err(anyhow::Error::msg)?;
        // The second sample: at 5 us every processor still switches to its first thread.
        together.push(f64::from(u8::from(outcome.recorded.samples[1].states[0] == 4)));
    }
    found.answer("placed-together-by-chance", Answer::Sample(together, "random starts".into()));
    Ok(())
}

pub(super) fn six(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("homogeneous", trial, found)?;
    let at = |all: &Curves, scheduler: &str, policy: &str, threads: &str, load: f64| {
        let series = all.with(&[("scheduler", scheduler), ("policy", policy), ("threads", threads)]).over_load("ssr_percent");
        series.into_iter().find(|p| p.0 == load).map_or(f64::NAN, |p| p.1)
    };
    let ratio = |all: &Curves| {
        let of = |threads| at(all, "Linux 2.4", "CS", threads, 96.0) / at(all, "round robin", "CS", threads, 96.0);
        mean(&["4", "10"].map(of))
    };
    found.answer("six-homogeneous-like-rr", all.number(ratio, "jobs of 4 and 10 threads, spinning CS"));
    let nearly_twice = |all: &Curves| ["4", "10"].map(|threads| at(all, "Linux 2.4", "2CS+", threads, 60.0)).to_vec();
    found.answer("six-homogeneous-up-to-twice", all.each(nearly_twice, "4 and 10 threads, 60 in all, 2CS+"));

    let all = curves("six", trial, found)?;
    let rates = |all: &Curves| {
        let of = |workload| all.with(&[("scheduler", "Linux 2.4"), ("workload", workload), ("load", "96")]).mean("ssr_percent");
        ["single", "heterogeneous", "homogeneous"].map(of)
    };
    let [single, heterogeneous, homogeneous] = rates(&all);
    let got = format!("{single:.0}, {heterogeneous:.0}, {homogeneous:.0} % for single, heterogeneous, homogeneous");
    let steps = |all: &Curves| rates(all).windows(2).map(|pair| pair[0] - pair[1]).collect();
    found.answer("six-linux-favours-fine-grain", all.each(steps, got));
    Ok(())
}

/// Windows from this rate of successful spins on are in step.
const IN_STEP_PERCENT: f64 = 95.0;

/// Where figure 3 has its peaks.
const MULTIPLES: &str = "{ from = 48, to = 208, step = 16 }";

pub(super) fn fig3(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("fig3", trial, found)?;
    let parts = |all: &Curves| {
        let points = all.with(&[]).over_load("ssr_percent");
        let beyond: Vec<_> = points.into_iter().filter(|p| p.0 > 32.0).collect();
        parted(&beyond, |load| load % 16.0 == 0.0)
    };
    let peak = |all: &Curves| mean(&parts(all).0);
    let base = |all: &Curves| mean(&parts(all).1);
    let (peaks, others) = parts(&all);
    found.answer("fig3-peaks", all.number(peak, format!("mean of {} multiples of 16", peaks.len())));
    found.answer("fig3-base", all.number(base, format!("mean of {} other loads", others.len())));
    let got = format!("{:.0} % against {:.0} %", peak(&all), base(&all));
    found.answer("fig3-peaks-stand-out", all.number(|all| peak(all) - base(all), got));
    let without = varied("fig3", trial, &[("sweep.load", MULTIPLES), ("machine.linux24.bonus-ticks", "0")])?;
    let bare = |all: &Curves| all.with(&[]).mean("ssr_percent");
    let got = format!("{:.0} % with the bonus, {:.0} % without", peak(&all), bare(&without));
    let seeds = all.seeds().min(without.seeds());
    let gain = |seed| peak(all.leaving_out(seed)) - bare(without.leaving_out(seed));
    found.answer("fig3-needs-the-bonus", sampled(seeds, gain, got));
    Ok(())
}

/// Job and machine, and of what the loads with peaks are multiples: of the smallest divisor that is not less
/// than the job.
const CASES: [(&str, f64); 4] = [("7 of 32", 8.0), ("11 of 32", 16.0), ("15 of 32", 16.0), ("11 of 64", 16.0)];

pub(super) fn divisors(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("divisors", trial, found)?;
    let rise = |(case, divisor): (&str, f64), all: &Curves| {
        let (peaks, others) = parted(&all.with(&[("case", case)]).over_load("ssr_percent"), |load| load % divisor == 0.0);
        mean(&peaks) - mean(&others)
    };
    let rises = |all: &Curves| CASES.map(|case| rise(case, all)).to_vec();
    let got = CASES
        .iter()
        .zip(rises(&all))
        .map(|((case, divisor), rise)| format!("{case}: {rise:.0} points at multiples of {divisor}"));
    let got = got.collect::<Vec<_>>().join(", ");
    found.answer("peaks-follow-divisors", all.each(rises, got));
    Ok(())
}

/// A load that is no multiple of 16, near the 96 of figure 4.
const OTHER_LOAD: &str = "100";

pub(super) fn fig4(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let plan = plan("fig4", trial)?;
    let points = runs(&plan, trial)?;
    found.measurements = points::measurements(&plan, &points);
    // Strips of one seed are enough to look at.
    found.measurements.retain(|m| !m.labels.contains_key("state") || m.labels.get("seed").is_some_and(|seed| seed == "1"));
    let (mut in_step, mut grown) = (Vec::new(), Vec::new());
    let (mut together, mut together_before, mut passed) = (Vec::new(), Vec::new(), Vec::new());
    for (study, outcome) in points.iter().flat_map(|point| &point.runs).filter_map(Ran::smp) {
        let (record, recorded) = (study.record, &outcome.recorded);
        let at = transition(&recorded.windows, IN_STEP_PERCENT);
        in_step.push(f64::from(u8::from(at.is_some())));
        let Some(at) = at else { continue };
        // A spin that succeeds is a further barrier without giving up the processor.
        let spins = |of: fn(&Window) -> u64| recorded.windows[..at].iter().map(of).sum::<u64>() as f64;
        let (succeeded, failed) = (spins(|window| window.succeeded), spins(|window| window.failed));
        passed.extend((succeeded + failed > 0.0).then(|| succeeded / (succeeded + failed)));
        let first = ((at as u64 + 1) * record.window.0 / record.sample.0) as usize;
        let (before, after) = recorded.samples.split_at(first.min(recorded.samples.len()));
        grown.push(f64::from(u8::from(before.iter().any(|sample| sample.native == study.jobs[0].threads))));
        // Computing and spinning are both running.
        let as_one = |states: [u32; 4]| [states[0] + states[1], states[2], states[3]].contains(&study.jobs[0].threads);
        let share =
            |samples: &[Sample]| samples.iter().filter(|sample| as_one(sample.states)).count() as f64 / samples.len() as f64;
        together.push(share(after));
        together_before.push(share(before));
    }
    let count = |all: &[f64]| format!("{:.0} of {}", all.iter().sum::<f64>(), all.len());
    let (stepped, grew) = (format!("{} seeds", count(&in_step)), format!("{} seeds with a transition", count(&grown)));
    found.answer("fig4-transition", Answer::Sample(in_step, stepped));
    let why = format!("of the samples after the transition, {:.2} before; mean of the seeds", mean(&together_before));
    found.answer("fig4-together", Answer::Sample(together, why));
    found.answer("native-set-grows-first", Answer::Sample(grown, grew));
    found.answer("one-barrier-before-the-transition", Answer::Sample(passed, "of the spins before the transition".into()));
    let points = runs(&changed("fig4", &[("load", OTHER_LOAD)])?, trial)?;
    let stays =
        |(_, outcome): (_, &Outcome)| f64::from(u8::from(transition(&outcome.recorded.windows, IN_STEP_PERCENT).is_some()));
    let lasting: Vec<f64> = points.iter().flat_map(|point| &point.runs).filter_map(Ran::smp).map(stays).collect();
    let got = format!("{} seeds among {OTHER_LOAD} threads", count(&lasting));
    found.answer("transition-ends-at-other-loads", Answer::Sample(lasting, got));
    Ok(())
}
