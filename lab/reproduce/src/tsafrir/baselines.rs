//! The policies that Tsafrir & Feitelson 2002 argue with (§1, §6): their competitive factors, and how they fare at
//! barriers; the example of two pairs; and granularity measured by the waiter, which the paper proposes.
use crate::curves::{curves, number};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_wait::competitive::{BOUND_EXPONENTIAL, BOUND_UNIFORM, Distribution, offline_cost, randomised_cost, worst_factor};

pub(super) fn competitive(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let factor = |bound, distribution| worst_factor(bound, distribution);
    found.answer(
        "spin-for-a-switch-is-2-competitive",
        number(factor(1.0, Distribution::Constant), "the worst single wait, bound of one switch"),
    );
    found.answer("exponential-waits-factor", number(factor(BOUND_EXPONENTIAL, Distribution::Exponential), "the worst mean"));
    found.answer("uniform-waits-factor", number(factor(BOUND_UNIFORM, Distribution::Uniform), "the worst range"));
    let worst = (1..=400).map(|wait| f64::from(wait) / 100.0);
    let worst = worst.map(|wait| randomised_cost(Distribution::Constant, wait) / offline_cost(Distribution::Constant, wait));
    found.answer("randomised-factor", number(worst.fold(f64::NAN, f64::max), "the worst single wait up to four switches"));
    Ok(found)
}

pub(super) fn gang(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("gang", trial, &mut found)?;
    let [blocking, spinning] = ["AB", "2CS+"].map(|policy| all.with(&[("policy", policy)]).mean("switches_per_barrier"));
    let got = format!("{blocking:.2} against {spinning:.2}");
    found.answer(
        "two-pairs-fall-into-step",
        Answer::Holds(blocking >= 0.9 && spinning <= 0.2, got, "switches per barrier, always-block against 2CS+".into()),
    );
    Ok(found)
}

pub(super) fn baselines(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("baselines", trial, &mut found)?;
    let speedup = |grain, policy| all.with(&[("grains", grain), ("policy", policy)]).mean("speedup");
    let fine = |policy| speedup("fine", policy);
    found.answer("holder-running-means-block", number(1.0 / fine("holder running"), "fine grain, loads from 40 to 136"));
    let behind = fine("2CS+") / fine("recent");
    let got = format!("{behind:.2} times the time of 2CS+");
    found.answer(
        "recent-past-predicts-nothing",
        Answer::Holds(behind >= 1.2, got, "fine grain, choosing by the last three waits".into()),
    );
    let spins = ["CS", "CS+", "2CS+", "5 CS", "always spin"];
    let best = spins.map(|policy| speedup("coarse", policy)).into_iter().fold(f64::NAN, f64::max);
    found.answer(
        "coarse-must-not-spin",
        Answer::Holds(best <= 1.05, format!("{best:.2} times as fast"), "the best spin duration, coarse grain".into()),
    );
    let (kept, lost) = (fine("grain2cs") / fine("2CS+"), speedup("coarse", "grain2cs"));
    let got = format!("{kept:.2} of 2CS+ for fine, {lost:.2} of always-block for coarse");
    found.answer("granularity-tells", Answer::Holds(kept >= 0.9 && lost >= 0.95, got, "speeds".into()));
    let multiples = [(".54 CS", 0.54), (".62 CS", 0.62), ("CS", 1.0), ("CS+", 1.33), ("2CS+", 2.33), ("5 CS", 5.0)];
    let best = multiples.into_iter().max_by(|a, b| fine(a.0).total_cmp(&fine(b.0)));
    let (name, switches) = best.unwrap_or(("none", f64::NAN));
    found.answer(
        "five-switches-in-clusters",
        number(switches, format!("the best for fine grain on one machine is {name}: {:.2} times", fine(name))),
    );
    Ok(found)
}
