//! Figures 5 and 7 of Tsafrir & Feitelson 2002 (§4.2, §5.2): how long to spin, against one job's rate and its time; and
//! whether quanta and allotments matter (§2.1, appendix A).
use crate::curves::{Curves, curves, mean, number, parted, varied};
use crate::{Answer, Findings, Trial};
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

/// The mean over loads above the number of processors.
fn loaded(all: &Curves, grain: &str, policy: &str, figure: &str) -> f64 {
    mean(&parted(&all.with(&[("grains", grain), ("policy", policy)]).over_load(figure), |load| load > 32.0).0)
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
    let least = rises.iter().copied().min_by(f64::total_cmp).unwrap_or(f64::NAN);
    let holds = rises.iter().all(|&rise| rise >= 3.0);
    found.answer(
        "fig5-longer-is-better",
        Answer::Holds(holds, format!("by {least:.0} points"), "the least step between averages".into()),
    );
    let grids = [(on_coarse, &coarse), (on_full, &full)];
    for (grain, ids) in [("fine", ["fig5-fine", "fig5-fine-full-grid"]), ("medium", ["fig5-medium", "fig5-medium-full-grid"])] {
        for (id, (grid, all)) in ids.into_iter().zip(grids) {
            found.answer(id, number(rate(all, grain, "2CS+"), grid));
        }
    }
    let got = [("fine", &coarse, 85.0), ("medium", &coarse, 65.0), ("fine", &full, 80.0), ("medium", &full, 45.0)]
        .map(|(grain, all, least)| (rate(all, grain, "2CS+"), least));
    found.answer("fig5-bands", at_least(&got, "%"));
    Ok(found)
}

pub(super) fn fig7(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let Grids { coarse: (coarse, on_coarse), full: (full, on_full) } = Grids::of("fig7", trial, &mut found)?;
    let speedup = |all: &Curves, grain| loaded(all, grain, "2CS+", "speedup");
    found.answer("fig7-fine", number(speedup(&coarse, "fine"), on_coarse));
    found.answer("fig7-medium", number(speedup(&coarse, "medium"), on_coarse));
    found.answer("fig7-fine-full-grid", number(speedup(&full, "fine"), on_full));
    let [fine, medium] = ["fine", "medium"].map(|grain| (speedup(&coarse, grain), speedup(&full, grain)));
    let holds = fine.0 >= 1.5 && fine.1 >= 1.5 && (1.1..=1.5).contains(&medium.0) && (1.0..=1.3).contains(&medium.1);
    let got = format!("fine {:.2} and {:.2}, medium {:.2} and {:.2}", fine.0, fine.1, medium.0, medium.1);
    found.answer("fig7-bands", Answer::Holds(holds, got, "on the coarse and on the full grid".into()));
    Ok(found)
}

fn at_least(got: &[(f64, f64)], unit: &str) -> Answer {
    let words: Vec<_> = got.iter().map(|(value, least)| format!("{value:.0} {unit} (at least {least})")).collect();
    Answer::Holds(
        got.iter().all(|(value, least)| value >= least),
        words.join(", "),
        "fine and medium, coarse and full grid".into(),
    )
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
    let got = format!("{five:.0} against {twenty:.0}");
    found.answer(
        "no-migration-with-five-ticks",
        Answer::Holds(five < twenty / 10.0, got, "take-overs a run, with five and with twenty ticks".into()),
    );
    Ok(found)
}
