//! Figures 5 and 7 of Tsafrir & Feitelson 2002 (§4.2, §5.2): how long to spin, against one job's rate and its time; and
//! whether quanta and allotments matter (§2.1, appendix A).
use crate::curves::{Curves, curves, each, mean, number, parted, varied};
use crate::{Findings, Trial};
use anyhow::Result;

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

pub(super) fn fig5(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig5", trial, &mut found)?;
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
    Ok(found)
}

pub(super) fn fig7(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig7", trial, &mut found)?;
    let speedup = |all: &Curves, grain| loaded(all, grain, "2CS+", "speedup");
    found.answer("fig7-fine", number(speedup(&coarse, "fine"), on_coarse));
    found.answer("fig7-medium", number(speedup(&coarse, "medium"), on_coarse));
    found.answer("fig7-fine-full-grid", number(speedup(&full, "fine"), on_full));
    let shorter = ["CS", "CS+"].map(|policy| loaded(&coarse, "medium", policy, "speedup"));
    found.answer("fig7-medium-needs-2cs", each(shorter.to_vec(), format!("CS and CS+ {on_coarse}")));
    let switches = |policy| loaded(&coarse, "fine", policy, "switches_per_barrier");
    let fewer = ["AB", "CS"].map(|policy| switches(policy) / switches("2CS+"));
    found.answer("fewer-switches", each(fewer.to_vec(), format!("always-block and CS over 2CS+, fine grain {on_coarse}")));
    Ok(found)
}

pub(super) fn quantum(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("quantum", trial, &mut found)?;
    let rate = |policy, load, steps| all.with(&[("policy", policy), ("load", load), ("steps", steps)]).mean("ssr_percent");
    let both = ["multiples of 16", "others"];
    let ratio = mean(&both.map(|load| rate("2CS+", load, "1000") / rate("2CS+", load, "100")));
    found.answer("larger-quanta-change-nothing-2cs", number(ratio, "mean over multiples of 16 and other loads"));
    let peaks = rate("CS", both[0], "1000") / rate("CS", both[0], "100");
    found.answer("larger-quanta-change-nothing-peaks", number(peaks, "at multiples of 16"));
    Ok(found)
}

pub(super) fn allocation(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("allocation", trial, &mut found)?;
    let [twenty, five] = ["20", "5"].map(|ticks| all.with(&[("ticks", ticks)]).mean("foreign_marks"));
    let got = format!("{five:.0} take-overs a run with five ticks, {twenty:.0} with twenty");
    found.answer("no-migration-with-five-ticks", number(five / twenty, got));
    found.answer("migration-with-twenty-ticks", number(twenty, "mean over loads and seeds"));
    Ok(found)
}
