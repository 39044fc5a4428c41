//! The policies that Tsafrir & Feitelson 2002 argue with (§1, §6): their competitive factors, and how they fare at
//! barriers; the example of two pairs; and granularity measured by the waiter, which the paper proposes.
use crate::curves::{curves, number};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_wait::competitive::{BOUND_EXPONENTIAL, BOUND_UNIFORM, Distribution, drawn_cost, offline_cost, worst_factor};

/// Bounds that are drawn for each wait: their mean cost is then known to a third of a percent.
const DRAWS: u32 = 100_000;

pub(super) fn competitive(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
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
    Ok(found)
}

pub(super) fn gang(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("gang", trial, &mut found)?;
    for (claim, policy) in [("two-pairs-that-block-pay", "AB"), ("two-pairs-fall-into-step", "2CS+")] {
        found.answer(claim, Answer::Sample(all.with(&[("policy", policy)]).values(), String::new()));
    }
    Ok(found)
}

pub(super) fn baselines(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("baselines", trial, &mut found)?;
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
    Ok(found)
}
