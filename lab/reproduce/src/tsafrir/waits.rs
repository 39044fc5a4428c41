//! Figures 5 to 9 of Tsafrir & Feitelson 2002, quanta and allotments (§4.2, §5), wake-up schemes (§4.3), and
//! the policies that the paper argues with (§1, §6): how long to wait, in jobs alone and in random mixes.
use crate::curves::{Curves, curves, each, falls_below, mean, number, parted, varied};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_wait::competitive::{BOUND_EXPONENTIAL, BOUND_UNIFORM, Distribution, drawn_cost, offline_cost, worst_factor};

/// Half of these loads are multiples of 16; of every third or of all loads it is one in sixteen.
const COARSE_GRID: &str = "{ from = 40, to = 208, step = 8 }";
const EVERY_THIRD: &str = "{ from = 33, to = 210, step = 3 }";

/// One plan on two grids, with what to call them.
struct Grids {
    coarse: (Curves, &'static str),
    full: (Curves, &'static str),
}

impl Grids {
    /// What is shipped has the coarse grid, or with `--full` all loads.
    fn of(name: &str, trial: &Trial, found: &mut Findings) -> Result<Self> {
        let shipped = curves(name, trial, found)?;
        let coarse = "on loads 40, 48, ..., 208";
        Ok(if trial.full {
            let seeds = ("run.seeds", "3");
            let other = varied(name, trial, &[("sweep.load", COARSE_GRID), seeds])?;
            Self { coarse: (other, coarse), full: (shipped, "on every load from 33 to 211") }
        } else {
            let other = varied(name, trial, &[("sweep.load", EVERY_THIRD)])?;
            Self { coarse: (shipped, coarse), full: (other, "on every third load from 33 to 210") }
        })
    }
}

/// At each load above the number of processors.
fn beyond(all: &Curves, grain: &str, policy: &str, figure: &str) -> Vec<f64> {
    parted(&all.with(&[("grains", grain), ("policy", policy)]).over_load(figure), |load| load > 32.0).0
}

/// The mean over these loads.
fn loaded(all: &Curves, grain: &str, policy: &str, figure: &str) -> f64 {
    mean(&beyond(all, grain, policy, figure))
}

/// The standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    mean(&values.iter().map(|value| (value - middle).powi(2)).collect::<Vec<_>>()).sqrt()
}

pub(super) fn fig5(trial: &Trial, found: &mut Findings) -> Result<()> {
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig5", trial, found)?;
    let rate = |all: &Curves, grain, policy| loaded(all, grain, policy, "ssr_percent");
    let mut rises = Vec::new();
    for grain in ["fine", "medium"] {
        let [cs, plus, two] = ["CS", "CS+", "2CS+"].map(|policy| rate(&coarse, grain, policy));
        rises.extend([plus - cs, two - plus]);
    }
    found.answer("fig5-longer-is-better", each(rises, "the steps between averages, fine and medium grain"));
    let grids = [(on_coarse, &coarse), (on_full, &full)];
    for (grain, ids) in [("fine", ["fig5-fine", "fig5-fine-full-grid"]), ("medium", ["fig5-medium", "fig5-medium-full-grid"])] {
        for (id, (grid, all)) in ids.into_iter().zip(grids) {
            found.answer(id, number(rate(all, grain, "2CS+"), grid));
        }
    }
    let peaks = ["fine", "medium"].map(|grain| rate(&full, grain, "2CS+"));
    found.answer("fig5-all-become-peaks", each(peaks.to_vec(), format!("fine and medium grain {on_full}")));
    for (claim, grain) in [("fig5-stable-fine", "fine"), ("fig5-stable-medium", "medium")] {
        let deviation = |policy| deviation(&beyond(&full, grain, policy, "ssr_percent"));
        let [cs, two] = ["CS", "2CS+"].map(deviation);
        found.answer(claim, number(two / cs, format!("{two:.0} points against {cs:.0} with CS, {on_full}")));
    }
    let spun = loaded(&coarse, "fine", "2CS+", "spin_of_budget");
    found.answer("spins-are-short", number(spun, format!("fine grain {on_coarse}")));
    Ok(())
}

pub(super) fn fig7(trial: &Trial, found: &mut Findings) -> Result<()> {
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig7", trial, found)?;
    let speedup = |all: &Curves, grain| loaded(all, grain, "2CS+", "speedup");
    found.answer("fig7-fine", number(speedup(&coarse, "fine"), on_coarse));
    found.answer("fig7-medium", number(speedup(&coarse, "medium"), on_coarse));
    found.answer("fig7-fine-full-grid", number(speedup(&full, "fine"), on_full));
    let shorter = ["CS", "CS+"].map(|policy| loaded(&coarse, "medium", policy, "speedup"));
    found.answer("fig7-medium-needs-2cs", each(shorter.to_vec(), format!("CS and CS+ {on_coarse}")));
    let switches = |policy| loaded(&coarse, "fine", policy, "switches_per_barrier");
    let fewer = ["AB", "CS"].map(|policy| switches(policy) / switches("2CS+"));
    found.answer("fewer-switches", each(fewer.to_vec(), format!("always-block and CS over 2CS+, fine grain {on_coarse}")));
    Ok(())
}

pub(super) fn quantum(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("quantum", trial, found)?;
    let rate = |policy, load, steps| all.with(&[("policy", policy), ("load", load), ("steps", steps)]).mean("ssr_percent");
    let both = ["multiples of 16", "others"];
    let ratio = mean(&both.map(|load| rate("2CS+", load, "1000") / rate("2CS+", load, "100")));
    found.answer("larger-quanta-change-nothing-2cs", number(ratio, "mean over multiples of 16 and other loads"));
    let peaks = rate("CS", both[0], "1000") / rate("CS", both[0], "100");
    found.answer("larger-quanta-change-nothing-peaks", number(peaks, "at multiples of 16"));
    Ok(())
}

pub(super) fn allocation(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("allocation", trial, found)?;
    let [twenty, five] = ["20", "5"].map(|ticks| all.with(&[("ticks", ticks)]).mean("foreign_marks"));
    let got = format!("{five:.0} take-overs a run with five ticks, {twenty:.0} with twenty");
    found.answer("no-migration-with-five-ticks", number(five / twenty, got));
    found.answer("migration-with-twenty-ticks", number(twenty, "mean over loads and seeds"));
    Ok(())
}

/// The processors of figures 6 and 8.
const CPUS: f64 = 32.0;

pub(super) fn fig6(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("fig6", trial, found)?;
    let sizes = all.labels("sizes");
    let series = |size: &str, grain: &str| all.with(&[("sizes", size), ("job", grain)]).over_load("ssr_percent");
    let loads = series(sizes[0], "fine");
    let mean_at = |load: f64| {
        mean(&sizes.iter().flat_map(|size| series(size, "fine")).filter(|p| p.0 == load).map(|p| p.1).collect::<Vec<_>>())
    };
    let up_to_twice: Vec<f64> = loads.iter().filter(|p| p.0 <= 2.0 * CPUS).map(|p| mean_at(p.0)).collect();
    found.answer("fig6-fine-up-to-twice", each(up_to_twice, "the mean over mixes at each load up to 64"));
    let at_three_times = all.with(&[("job", "fine"), ("load", "96")]).values();
    let good = at_three_times.iter().filter(|&&ssr| ssr > 50.0).count();
    let all_seeds = at_three_times.len();
    let got = format!("{good} of {all_seeds} seeds of all mixes at 96 threads");
    found.answer("fig6-sometimes-three-times", number(good as f64 / all_seeds as f64, got));
    for (id, grain) in [("fig6-extra-fine", "fine"), ("fig6-extra-medium", "medium")] {
        // A mix that never falls below half tolerates at least the largest load tried.
        let extra = |size: &&str| {
            let points = series(size, grain);
            falls_below(&points, 50.0).or(points.last().map(|p| p.0)).map(|load| load - CPUS)
        };
        let extras: Vec<f64> = sizes.iter().filter_map(extra).collect();
        let words: Vec<String> =
            sizes.iter().zip(&extras).map(|(size, extra)| format!("{extra:.0} with jobs of {size}")).collect();
        found.answer(id, number(mean(&extras), words.join(", ")));
    }
    Ok(())
}

/// A job's time against always-block, over the load.
fn speedup(all: &Curves, labels: &[(&str, &str)]) -> Vec<(f64, f64)> {
    all.with(labels).over_load("speedup")
}

/// Where the speedup falls below 1.
fn falls_below_one(curve: &[(f64, f64)]) -> f64 {
    falls_below(curve, 1.0).unwrap_or(f64::NAN)
}

pub(super) fn fig8(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("fig8", trial, found)?;
    let [cs, two] = ["CS", "2CS+"].map(|policy| speedup(&all, &[("policy", policy)]));
    let at = all.with(&[("policy", "2CS+")]).pseudo_values(falls_below_one);
    found.answer("fig8-up-to-twice", Answer::Sample(at, "where the speedup of 2CS+ falls below 1".into()));
    let (within, _) = parted(&two, |load| load <= 2.0);
    found.answer("fig8-average", number(mean(&within), format!("mean of {} loads from .5 to 2", within.len())));
    let ratios: Vec<f64> = two.iter().zip(&cs).filter(|(p, _)| (1.0..=2.0).contains(&p.0)).map(|(a, b)| a.1 / b.1).collect();
    found.answer("fig8-durations-alike", number(mean(&ratios), "speedup of 2CS+ over that of CS"));
    let idle = |load| all.with(&[("policy", "AB"), ("load", load)]).mean("idle_share");
    found.answer("fig8-idle-processors", number(idle("1x"), "idle share at a load of 1"));
    found.answer("fig8-none-idle-at-four", number(idle("4x"), "idle share at a load of 4"));
    Ok(())
}

pub(super) fn fig9(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("fig9", trial, found)?;
    let larger = ["128", "256"].map(|cpus| all.with(&[("policy", "2CS+"), ("cpus", cpus)]));
    let at = larger.iter().flat_map(|series| series.pseudo_values(falls_below_one)).collect();
    found.answer("fig9-larger-machines", Answer::Sample(at, "seeds of 128 and of 256 processors".into()));
    Ok(())
}

pub(super) fn wake(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("wake", trial, found)?;
    let speedup =
        |workload, policy, scheme| all.with(&[("workload", workload), ("policy", policy), ("wakeup", scheme)]).mean("speedup");
    let big = speedup("2 x 24", "2CS+", "ap-mark");
    found.answer("wake-ap-pays", number(big, "two jobs of 24 threads, 2CS+"));
    let best = all.with(&[("wakeup", "ap-mark")]).all("speedup").into_iter().fold(f64::NAN, f64::max);
    found.answer("wake-ap-largest", number(best, "the largest of all mixes and policies"));
    let mut logs = Vec::new();
    for workload in all.labels("workload") {
        for policy in all.labels("policy") {
            logs.push((speedup(workload, policy, "gv") / speedup(workload, policy, "ap-mark")).ln());
        }
    }
    let geomean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    found.answer("wake-gv-no-better", number(geomean, format!("{} mixes and policies", logs.len())));
    let duplicates = |scheme| all.with(&[("wakeup", scheme)]).mean("duplicate_mark_share");
    for (claim, scheme) in [("wake-same-processor", "linux"), ("wake-ap-never-the-same", "ap-mark")] {
        found.answer(claim, number(duplicates(scheme), "marks of processors marked already"));
    }
    Ok(())
}

/// Bounds that are drawn for each wait: their mean cost is then known to a third of a percent.
const DRAWS: u32 = 100_000;

pub(super) fn competitive(_: &Trial, found: &mut Findings) -> Result<()> {
    let factor = |bound, distribution| worst_factor(bound, distribution);
    found.answer(
        "spin-for-a-switch-is-2-competitive",
        number(factor(1.0, Distribution::Constant), "the worst single wait, bound of one switch"),
    );
    found.answer("exponential-waits-factor", number(factor(BOUND_EXPONENTIAL, Distribution::Exponential), "the worst mean"));
    found.answer("uniform-waits-factor", number(factor(BOUND_UNIFORM, Distribution::Uniform), "the worst range"));
    let waits = [0.25, 0.5, 0.75, 1.0, 1.5, 4.0];
    let worst = waits.map(|wait| drawn_cost(wait, DRAWS) / offline_cost(Distribution::Constant, wait));
    let why = format!("the worst of six waits from .25 to 4 switches, each the mean of {DRAWS} drawn bounds");
    found.answer("randomised-factor", number(worst.into_iter().fold(f64::NAN, f64::max), why));
    Ok(())
}

pub(super) fn gang(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("gang", trial, found)?;
    for (claim, policy) in [("two-pairs-that-block-pay", "AB"), ("two-pairs-fall-into-step", "2CS+")] {
        found.answer(claim, Answer::Sample(all.with(&[("policy", policy)]).values(), String::new()));
    }
    Ok(())
}

pub(super) fn baselines(trial: &Trial, found: &mut Findings) -> Result<()> {
    let all = curves("baselines", trial, found)?;
    let speedup = |grain, policy| all.with(&[("grains", grain), ("policy", policy)]).mean("speedup");
    let fine = |policy| speedup("fine", policy);
    found.answer("holder-running-means-block", number(1.0 / fine("holder running"), "fine grain, loads from 40 to 136"));
    let medium = 1.0 / speedup("medium", "holder running");
    found.answer("holder-running-means-block-medium", number(medium, "medium grain, the same loads"));
    let spinning = all.with(&[("grains", "fine"), ("policy", "always spin")]).mean("ssr_percent");
    found.answer("always-spin-succeeds", number(spinning, "fine grain"));
    found.answer("recent-past-predicts-nothing", number(fine("2CS+") / fine("recent"), "fine grain, by the last three waits"));
    let spins = ["CS", "CS+", "2CS+", "5 CS", "always spin"];
    let best = spins.map(|policy| speedup("coarse", policy)).into_iter().fold(f64::NAN, f64::max);
    found.answer("coarse-must-not-spin", number(best, "the best spin duration, coarse grain"));
    found.answer("granularity-tells-fine", number(fine("grain2cs") / fine("2CS+"), "of the speed of 2CS+"));
    found.answer("granularity-tells-coarse", number(speedup("coarse", "grain2cs"), "of the speed of always-block"));
    let multiples = [(".54 CS", 0.54), (".62 CS", 0.62), ("CS", 1.0), ("CS+", 1.33), ("2CS+", 2.33), ("5 CS", 5.0)];
    let best = multiples.into_iter().max_by(|a, b| fine(a.0).total_cmp(&fine(b.0)));
    let (name, switches) = best.unwrap_or(("none", f64::NAN));
    found.answer(
        "five-switches-in-clusters",
        number(switches, format!("the best for fine grain on one machine is {name}: {:.2} times", fine(name))),
    );
    Ok(())
}
