//! Figures 6, 8 and 9 of Tsafrir & Feitelson 2002 (§5): random mixes of jobs, by grain, by load, and on larger machines.
use crate::curves::{Curves, between, curves, falls_below, mean, number, parted};
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
    found.answer("fig6-fine-up-to-twice", between(&up_to_twice, 50.0, 100.0, " %"));
    let at_three_times = all.with(&[("job", "fine"), ("load", "96")]).values();
    let good = at_three_times.iter().filter(|&&ssr| ssr > 50.0).count();
    let got = format!("{good} of {}", at_three_times.len());
    found.answer(
        "fig6-sometimes-three-times",
        Answer::Holds(good > 0 && good * 10 >= at_three_times.len(), got, "seeds of all mixes at 96 threads".into()),
    );
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

pub(super) fn fig8(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("fig8", trial, &mut found)?;
    let [cs, two] = ["CS", "2CS+"].map(|policy| speedup(&all, &[("policy", policy)]));
    let crossing = falls_below(&two, 1.0).unwrap_or(f64::NAN);
    found.answer("fig8-up-to-twice", number(crossing, "where the speedup of 2CS+ falls below 1"));
    let (within, _) = parted(&two, |load| load <= 2.0);
    found.answer("fig8-average", number(mean(&within), format!("mean of {} loads from .5 to 2", within.len())));
    let ratios: Vec<f64> = two.iter().zip(&cs).filter(|(p, _)| (1.0..=2.0).contains(&p.0)).map(|(a, b)| a.1 / b.1).collect();
    found.answer("fig8-durations-alike", number(mean(&ratios), "speedup of 2CS+ over that of CS"));
    let idle = |load| all.with(&[("policy", "AB"), ("load", load)]).mean("idle_share");
    let (one, four) = (idle("1x"), idle("4x"));
    let got = format!("{one:.2} and {four:.2}");
    found.answer("fig8-idle-processors", Answer::Holds(one >= 0.2 && four <= 0.05, got, "idle share at loads of 1 and 4".into()));
    let (light, _) = parted(&two, |load| load <= 1.25);
    found.answer("fig8-light-loads", between(&light, 1.5, f64::INFINITY, "x"));
    Ok(found)
}

pub(super) fn fig9(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("fig9", trial, &mut found)?;
    let of = |cpus| speedup(&all, &[("policy", "2CS+"), ("cpus", cpus)]);
    let crossings = ["128", "256"].map(|cpus| falls_below(&of(cpus), 1.0).unwrap_or(f64::NAN));
    found.answer("fig9-larger-machines", number(mean(&crossings), format!("{:.2} and {:.2}", crossings[0], crossings[1])));
    let larger: Vec<(f64, f64)> = ["64", "128", "256"].into_iter().flat_map(of).collect();
    let least = |from: f64, to: f64| {
        parted(&larger, |load| from < load && load <= to).0.into_iter().min_by(f64::total_cmp).unwrap_or(f64::NAN)
    };
    let (light, heavier) = (least(0.0, 1.25), least(1.25, 1.6));
    let got = format!("{light:.2} and {heavier:.2}");
    found.answer(
        "fig9-bands",
        Answer::Holds(light > 1.3 && heavier > 1.0, got, "the least up to a load of 1.25 and up to 1.6".into()),
    );
    Ok(found)
}
