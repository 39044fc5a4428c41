//! Figures 6, 8 and 9 of Tsafrir & Feitelson 2002 (§5): random mixes of jobs, by grain, by load, and on larger machines.
use crate::curves::{Curves, curves, each, falls_below, mean, number, parted};
use crate::{Answer, Findings, Trial};
use anyhow::Result;

/// The processors of figures 6 and 8.
const CPUS: f64 = 32.0;

pub(super) fn fig6(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("fig6", trial, &mut found)?;
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
    Ok(found)
}

/// A job's time against always-block, over the load.
fn speedup(all: &Curves, labels: &[(&str, &str)]) -> Vec<(f64, f64)> {
    all.with(labels).over_load("speedup")
}

/// Where the speedup falls below 1.
fn falls_below_one(curve: &[(f64, f64)]) -> f64 {
    falls_below(curve, 1.0).unwrap_or(f64::NAN)
}

pub(super) fn fig8(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("fig8", trial, &mut found)?;
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
    Ok(found)
}

pub(super) fn fig9(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("fig9", trial, &mut found)?;
    let larger = ["128", "256"].map(|cpus| all.with(&[("policy", "2CS+"), ("cpus", cpus)]));
    let at = larger.iter().flat_map(|series| series.pseudo_values(falls_below_one)).collect();
    found.answer("fig9-larger-machines", Answer::Sample(at, "seeds of 128 and of 256 processors".into()));
    Ok(found)
}
