//! Figures 5 to 9 of Tsafrir & Feitelson 2002, quanta and allotments (§4.2, §5), wake-up schemes (§4.3), and
//! the policies that the paper argues with (§1, §6): how long to wait, in jobs alone and in random mixes.
use crate::curves::{Curves, curves, falls_below, mean, number, parted, varied};
use crate::{Answer, Findings, TrialOptions};
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
    fn of(name: &str, trial: &TrialOptions, found: &mut Findings) -> Result<Self> {
        let shipped = curves(name, trial, found)?;
        let coarse = "on loads 40, 48, ..., 208";
        Ok(if trial.full {
            let seeds = ("run.seeds", "3");
            let other = varied(name, trial, &[("sweep.load", COARSE_GRID), seeds])?;
            Self { coarse: (other, coarse), full: (shipped, "on every load from 33 to 211") }
        } else {
            // Sixty loads, each with draws of its own: more seeds would take a minute.
            let other = varied(name, trial, &[("sweep.load", EVERY_THIRD), ("run.seeds", "1")])?;
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

pub(super) fn fig5(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig5", trial, found)?;
    let rate = |all: &Curves, grain, policy| loaded(all, grain, policy, "ssr_percent");
    let rises = |all: &Curves| {
        let of = |grain| {
            let [cs, plus, two] = ["CS", "CS+", "2CS+"].map(|policy| rate(all, grain, policy));
            [plus - cs, two - plus]
        };
        ["fine", "medium"].map(of).concat()
    };
    found.answer("fig5-longer-is-better", coarse.each(rises, "the steps between averages, fine and medium grain"));
    let grids = [(on_coarse, &coarse), (on_full, &full)];
    for (grain, ids) in [("fine", ["fig5-fine", "fig5-fine-full-grid"]), ("medium", ["fig5-medium", "fig5-medium-full-grid"])] {
        for (id, (grid, all)) in ids.into_iter().zip(grids) {
            found.answer(id, all.number(|all| rate(all, grain, "2CS+"), grid));
        }
    }
    let peaks = |all: &Curves| ["fine", "medium"].map(|grain| rate(all, grain, "2CS+")).to_vec();
    found.answer("fig5-all-become-peaks", full.each(peaks, format!("fine and medium grain {on_full}")));
    for (claim, grain) in [("fig5-stable-fine", "fine"), ("fig5-stable-medium", "medium")] {
        let deviation = |all: &Curves, policy| deviation(&beyond(all, grain, policy, "ssr_percent"));
        let [cs, two] = ["CS", "2CS+"].map(|policy| deviation(&full, policy));
        let ratio = |all: &Curves| deviation(all, "2CS+") / deviation(all, "CS");
        found.answer(claim, full.number(ratio, format!("{two:.0} points against {cs:.0} with CS, {on_full}")));
    }
    let spun = |all: &Curves| loaded(all, "fine", "2CS+", "spin_of_budget");
    found.answer("spins-are-short", coarse.number(spun, format!("fine grain {on_coarse}")));
    Ok(())
}

pub(super) fn fig7(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig7", trial, found)?;
    let speedup = |grain| move |all: &Curves| loaded(all, grain, "2CS+", "speedup");
    found.answer("fig7-fine", coarse.number(speedup("fine"), on_coarse));
    found.answer("fig7-medium", coarse.number(speedup("medium"), on_coarse));
    found.answer("fig7-fine-full-grid", full.number(speedup("fine"), on_full));
    let shorter = |all: &Curves| ["CS", "CS+"].map(|policy| loaded(all, "medium", policy, "speedup")).to_vec();
    found.answer("fig7-medium-needs-2cs", coarse.each(shorter, format!("CS and CS+ {on_coarse}")));
    let fewer = |all: &Curves| {
        let switches = |policy| loaded(all, "fine", policy, "switches_per_barrier");
        ["AB", "CS"].map(|policy| switches(policy) / switches("2CS+")).to_vec()
    };
    found.answer("fewer-switches", coarse.each(fewer, format!("always-block and CS over 2CS+, fine grain {on_coarse}")));
    Ok(())
}

pub(super) fn quantum(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("quantum", trial, found)?;
    let change = |all: &Curves, policy, load| {
        let rate = |steps| all.with(&[("policy", policy), ("load", load), ("steps", steps)]).mean("ssr_percent");
        rate("1000") / rate("100")
    };
    let both = ["multiples of 16", "others"];
    let two = |all: &Curves| mean(&both.map(|load| change(all, "2CS+", load)));
    found.answer("larger-quanta-change-nothing-2cs", all.number(two, "mean over multiples of 16 and other loads"));
    found.answer("larger-quanta-change-nothing-peaks", all.number(|all| change(all, "CS", both[0]), "at multiples of 16"));
    Ok(())
}

pub(super) fn allocation(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("allocation", trial, found)?;
    let marks = |all: &Curves, ticks| all.with(&[("ticks", ticks)]).mean("foreign_marks");
    let got = format!("{:.0} take-overs a run with five ticks, {:.0} with twenty", marks(&all, "5"), marks(&all, "20"));
    found.answer("no-migration-with-five-ticks", all.number(|all| marks(all, "5") / marks(all, "20"), got));
    found.answer("migration-with-twenty-ticks", all.number(|all| marks(all, "20"), "mean over loads and seeds"));
    Ok(())
}

/// The processors of figures 6 and 8.
const CPUS: f64 = 32.0;

pub(super) fn fig6(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("fig6", trial, found)?;
    let sizes = all.labels("sizes");
    let series = |all: &Curves, size: &str, grain: &str| all.with(&[("sizes", size), ("job", grain)]).over_load("ssr_percent");
    let up_to_twice = |all: &Curves| {
        let curves: Vec<Vec<(f64, f64)>> = sizes.iter().map(|size| series(all, size, "fine")).collect();
        let loads = curves[0].iter().map(|p| p.0).filter(|&load| load <= 2.0 * CPUS);
        let at = |load: f64| mean(&curves.iter().flatten().filter(|p| p.0 == load).map(|p| p.1).collect::<Vec<_>>());
        loads.map(at).collect()
    };
    found.answer("fig6-fine-up-to-twice", all.each(up_to_twice, "the mean over mixes at each load up to 64"));
    let beyond = |all: &Curves| {
        let all = sizes.iter().flat_map(|size| series(all, size, "fine"));
        all.filter(|p| p.0 > CPUS).map(|p| p.1).collect()
    };
    found.answer("fig6-fine-not-as-alone", all.each(beyond, "mixes of each size at each load above 32"));
    let at_three_times = all.with(&[("job", "fine"), ("load", "96")]).values();
    let good: Vec<f64> = at_three_times.iter().map(|&ssr| f64::from(u8::from(ssr > 50.0))).collect();
    let got = format!("{:.0} of {} seeds of all mixes at 96 threads", good.iter().sum::<f64>(), good.len());
    found.answer("fig6-sometimes-three-times", Answer::Sample(good, got));
    // A mix that never falls below half tolerates at least the largest load tried.
    let extras = |all: &Curves, grain| -> Vec<f64> {
        let extra = |size: &&str| {
            let points = series(all, size, grain);
            falls_below(&points, 50.0).or(points.last().map(|p| p.0)).map(|load| load - CPUS)
        };
        sizes.iter().filter_map(extra).collect()
    };
    for (id, grain) in [("fig6-extra-fine", "fine"), ("fig6-extra-medium", "medium")] {
        let words: Vec<String> =
            sizes.iter().zip(extras(&all, grain)).map(|(size, extra)| format!("{extra:.0} with jobs of {size}")).collect();
        found.answer(id, all.number(|all| mean(&extras(all, grain)), words.join(", ")));
    }
    Ok(())
}

/// A job's time against always-block, over the load.
fn speedup(all: &Curves, labels: &[(&str, &str)]) -> Vec<(f64, f64)> {
    all.with(labels).over_load("speedup")
}

/// Where the speedup falls below 1.
fn falls_below_one(all: &Curves, labels: &[(&str, &str)]) -> f64 {
    falls_below(&speedup(all, labels), 1.0).unwrap_or(f64::NAN)
}

pub(super) fn fig8(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("fig8", trial, found)?;
    let crossing = |all: &Curves| falls_below_one(all, &[("policy", "2CS+")]);
    found.answer("fig8-up-to-twice", all.number(crossing, "where the speedup of 2CS+ falls below 1"));
    let curve = |all: &Curves, policy| speedup(all, &[("policy", policy)]);
    let within = |all: &Curves| parted(&curve(all, "2CS+"), |load| load <= 2.0).0;
    let why = format!("mean of {} loads from .5 to 2", within(&all).len());
    found.answer("fig8-average", all.number(|all| mean(&within(all)), why));
    let alike = |all: &Curves| {
        let both = curve(all, "2CS+").into_iter().zip(curve(all, "CS"));
        mean(&both.filter(|(p, _)| (1.0..=2.0).contains(&p.0)).map(|(a, b)| a.1 / b.1).collect::<Vec<_>>())
    };
    found.answer("fig8-durations-alike", all.number(alike, "speedup of 2CS+ over that of CS"));
    let idle = |load| move |all: &Curves| all.with(&[("policy", "AB"), ("load", load)]).mean("idle_share");
    found.answer("fig8-idle-processors", all.number(idle("1x"), "idle share at a load of 1"));
    found.answer("fig8-none-idle-at-four", all.number(idle("4x"), "idle share at a load of 4"));
    Ok(())
}

pub(super) fn fig9(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("fig9", trial, found)?;
    let crossing = |all: &Curves, cpus| falls_below_one(all, &[("policy", "2CS+"), ("cpus", cpus)]);
    let at = ["128", "256"].into_iter().flat_map(|cpus| all.pseudo_values(|all| crossing(all, cpus))).collect();
    found.answer("fig9-larger-machines", Answer::Sample(at, "seeds of 128 and of 256 processors".into()));
    let shrunk = |all: &Curves| mean(&["128", "256"].map(|cpus| crossing(all, cpus))) / crossing(all, "32");
    let got =
        format!("{:.2} times 128 and 256 processors, {:.2} times 32", shrunk(&all) * crossing(&all, "32"), crossing(&all, "32"));
    found.answer("fig9-shrinks", all.number(shrunk, got));
    Ok(())
}

pub(super) fn wake(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("wake", trial, found)?;
    let speedup = |all: &Curves, workload, policy, scheme| {
        all.with(&[("workload", workload), ("policy", policy), ("wakeup", scheme)]).mean("speedup")
    };
    let big = |all: &Curves| speedup(all, "2 x 24", "2CS+", "ap-mark");
    found.answer("wake-ap-pays", all.number(big, "two jobs of 24 threads, 2CS+"));
    let best = |all: &Curves| all.with(&[("wakeup", "ap-mark")]).all("speedup").into_iter().fold(f64::NAN, f64::max);
    found.answer("wake-ap-largest", all.number(best, "the largest of all mixes and policies"));
    let (workloads, policies) = (all.labels("workload"), all.labels("policy"));
    let geomean = |all: &Curves| {
        let both = workloads.iter().flat_map(|workload| policies.iter().map(move |policy| (*workload, *policy)));
        let log = |(workload, policy)| (speedup(all, workload, policy, "gv") / speedup(all, workload, policy, "ap-mark")).ln();
        mean(&both.map(log).collect::<Vec<f64>>()).exp()
    };
    let mixes = workloads.len() * policies.len();
    found.answer("wake-gv-no-better", all.number(geomean, format!("{mixes} mixes and policies")));
    let idle = |all: &Curves| all.with(&[("wakeup", "linux")]).mean("idle_while_ready_share");
    found.answer("wake-idle-while-ready", all.number(idle, "under the scheme of Linux, mean over mixes and policies"));
    for (claim, scheme) in [("wake-same-processor", "linux"), ("wake-ap-never-the-same", "ap-mark")] {
        let duplicates = |all: &Curves| all.with(&[("wakeup", scheme)]).mean("duplicate_mark_share");
        found.answer(claim, all.number(duplicates, "marks of processors marked already"));
    }
    Ok(())
}

/// Bounds that are drawn for each wait: their mean cost is then known to a third of a percent.
const DRAWS: u32 = 100_000;

pub(super) fn competitive(_: &TrialOptions, found: &mut Findings) -> Result<()> {
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

pub(super) fn gang(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("gang", trial, found)?;
    for (claim, policy) in [("two-pairs-that-block-pay", "AB"), ("two-pairs-fall-into-step", "2CS+")] {
        found.answer(claim, Answer::Sample(all.with(&[("policy", policy)]).values(), String::new()));
    }
    Ok(())
}

pub(super) fn baselines(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("baselines", trial, found)?;
    let speedup = |all: &Curves, grain, policy| all.with(&[("grains", grain), ("policy", policy)]).mean("speedup");
    let block = |grain| move |all: &Curves| 1.0 / speedup(all, grain, "holder running");
    found.answer("holder-running-means-block", all.number(block("fine"), "fine grain, loads from 40 to 136"));
    found.answer("holder-running-means-block-medium", all.number(block("medium"), "medium grain, the same loads"));
    let spinning = |all: &Curves| all.with(&[("grains", "fine"), ("policy", "always spin")]).mean("ssr_percent");
    found.answer("always-spin-succeeds", all.number(spinning, "fine grain"));
    let fine = |all: &Curves, policy| speedup(all, "fine", policy);
    let against = |policy, other| move |all: &Curves| fine(all, policy) / fine(all, other);
    found.answer("recent-past-predicts-nothing", all.number(against("2CS+", "recent"), "fine grain, by the last three waits"));
    let spins = ["CS", "CS+", "2CS+", "5 CS", "always spin"];
    let best = |all: &Curves| spins.map(|policy| speedup(all, "coarse", policy)).into_iter().fold(f64::NAN, f64::max);
    found.answer("coarse-must-not-spin", all.number(best, "the best spin duration, coarse grain"));
    found.answer("granularity-tells-fine", all.number(against("grain2cs", "2CS+"), "of the speed of 2CS+"));
    let coarse = |all: &Curves| speedup(all, "coarse", "grain2cs");
    found.answer("granularity-tells-coarse", all.number(coarse, "of the speed of always-block"));
    let multiples = [(".54 CS", 0.54), (".62 CS", 0.62), ("CS", 1.0), ("CS+", 1.33), ("2CS+", 2.33), ("5 CS", 5.0)];
    let best = multiples.into_iter().max_by(|a, b| fine(&all, a.0).total_cmp(&fine(&all, b.0)));
    let (name, switches) = best.unwrap_or(("none", f64::NAN));
    found.answer(
        "five-switches-in-clusters",
        number(switches, format!("the best for fine grain on one machine is {name}: {:.2} times", fine(&all, name))),
    );
    Ok(())
}
