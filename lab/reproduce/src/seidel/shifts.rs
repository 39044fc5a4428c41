//! Shifts after synchronisation (§4): what they cost, and how often they are concurrent.
//!
//! The curves are plans (`plans/seidel-*.toml`). The profile `as-stated` has two forms: the paper's argument
//! of §3.4 taken literally (one late node, brought together between trials), and the benchmark's own loop,
//! which carries skew over.
use super::directed::{Directed, M};
use super::directed::{THREE, shifted};
use super::disturbed::figure_3_11;
use super::{count, number};
use crate::curves::{Curves, curves, mean, varied};
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_message::Protocol;
use foregather_sim::net::{Arbitration, Circuits, Faults, Interrupts, Skew, profile};
use foregather_simulate::network::{Shift, Study, run};

const DIMENSIONS: [&str; 6] = ["2", "3", "4", "5", "6", "7"];
const ALL_DIMENSIONS: (&str, &str) = ("sweep.dimension", "[2, 3, 4, 5, 6, 7]");
const BARRIERS: [&str; 3] = ["gsync", "sync0", "rds"];
const LONG: (&str, &str) = ("trial.shift", r#"{ protocol = "long", bytes = "32 KiB" }"#);
/// 64 header buffers for each sender, given back one by one when they have run out: they last for the paper's
/// 50 trials.
const POOL: [(&str, &str); 2] = [("network.pool", "{ buffers = 64, release = 1 }"), ("network.arbitration", r#""random""#)];

/// A figure over the dimensions.
fn over_dimensions(all: &Curves, barrier: &str, figure: &str) -> Vec<f64> {
    DIMENSIONS.iter().map(|d| all.with(&[("barrier", barrier), ("dimension", d)]).mean(figure)).collect()
}

/// How often shifts succeed, in percent: over the dimensions, after each barrier.
fn success_of(all: &Curves) -> [Vec<f64>; 3] {
    BARRIERS.map(|barrier| over_dimensions(all, barrier, "success_percent"))
}

/// Long shifts whose headers are counted, one node late, in trials `skipped..trials`.
fn pooled(trial: &TrialOptions, skipped: u32, trials: u32) -> Result<Curves> {
    let (skipped, trials) = (skipped.to_string(), trials.to_string());
    let changes = [LONG, POOL[0], POOL[1], ("trial.skipped", &skipped), ("trial.trials", &trials)];
    varied("seidel-success-as-stated", trial, &changes)
}

fn words(values: &[f64], digits: usize) -> String {
    values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(" ")
}

fn last(values: &[f64]) -> f64 {
    values.last().copied().unwrap_or(f64::NAN)
}

fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

pub(super) fn shift_cost(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    // For the report: figures 4-1 to 4-4.
    for plan in ["seidel-shift-cost", "seidel-shift-32k"] {
        curves(plan, trial, found)?;
    }
    let forced = |profile: &str| {
        varied("seidel-shift-cost", trial, &[("network.profile", profile), ALL_DIMENSIONS, ("sweep.protocol", r#"["forced"]"#)])
    };
    let (stated, calibrated) = (forced(r#""ipsc860-as-stated""#)?, forced(r#""ipsc860-calibrated""#)?);
    forced_shifts(found, &stated, &calibrated);
    consistency(trial, found)?;
    Ok(())
}

/// Shift and least shift, of every size and dimension, after a barrier.
fn ratios(all: &Curves, barrier: &str) -> Vec<f64> {
    let series = all.with(&[("barrier", barrier)]);
    series.all("shift_us").iter().zip(series.all("least_shift_us")).map(|(shift, least)| shift / least).collect()
}

fn forced_shifts(found: &mut Findings, stated: &Curves, calibrated: &Curves) {
    let after_rds = ratios(stated, "rds");
    let worst = after_rds.iter().copied().fold(f64::NAN, f64::max);
    found.answer("forced-after-rds-agrees", number(mean(&after_rds), format!("the mean of {} sizes and cubes", after_rds.len())));
    found.answer("forced-after-rds-worst", number(worst, "the worst of them"));
    let [gsync, sync0, rds] = BARRIERS.map(|b| stated.with(&[("barrier", b), ("dimension", "7")]).mean("shift_us") / 1e3);
    found.answer(
        "forced-after-rds-least",
        number(rds / gsync.min(sync0), format!("{rds:.2} ms against {gsync:.2} and {sync0:.2} after gsync and sync0")),
    );
    let saved = |d: &str| {
        let at = |barrier| stated.with(&[("barrier", barrier), ("dimension", d), ("bytes", "64 KiB")]).mean("shift_us") / 1e3;
        at("gsync") - at("rds")
    };
    let [small, middle, large] = ["2", "5", "7"].map(saved);
    found.answer("savings-of-milliseconds", number(large, "at d = 7, 64 KiB"));
    let why = format!("{small:.2} {middle:.2} {large:.2} ms at d = 2, 5, 7; against the larger of the first two");
    found.answer("savings-grow", number(large - small.max(middle), why));
    let dearer = [stated, calibrated].into_iter().flat_map(|all| {
        let rds = all.with(&[("barrier", "rds")]).all("shift_us");
        ["gsync", "sync0"].map(|other| {
            let others = all.with(&[("barrier", other)]).all("shift_us");
            most(rds.iter().zip(others).map(|(rds, other)| rds / other))
        })
    });
    found.answer("rds-preferable-everywhere", number(most(dearer), "against either, both profiles"));
}

/// Which ways reach the minimum consistently, with 32 KiB.
fn consistency(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let [gsync, sync0, rds] = success_of(&varied("seidel-success-calibrated", trial, &[])?);
    let changes = [LONG, POOL[0], ("trial.trials", "200"), ("trial.skipped", "0")];
    let long = success_of(&varied("seidel-success-calibrated", trial, &changes)?);
    let others = [last(&gsync), last(&sync0), last(&long[0]), last(&long[1]), last(&long[2])];
    let why = format!("gsync, sync0, and the three with long messages at d = 7: {}", words(&others, 1));
    found.answer("only-rds-forced-is-consistent", number(most(others), why));
    found.answer("rds-forced-is-consistent", number(least(rds), "the least of d = 2 to 7"));
    let long = pooled(trial, 0, 200)?;
    let at_7: Vec<f64> = success_of(&long).iter().map(|s| last(s)).collect();
    found.answer("long-never-consistent", number(most(at_7.iter().copied()), format!("{} at d = 7", words(&at_7, 1))));
    let cost = |all: &Curves, barrier| mean(&over_dimensions(all, barrier, "shift_us")) / 1e3;
    let costs = BARRIERS.map(|barrier| cost(&long, barrier));
    let first = pooled(trial, 0, 50)?;
    let early = BARRIERS.map(|barrier| cost(&first, barrier));
    let why = format!("{} ms after gsync, sync0, RDS in 50 trials; in 200: {}", words(&early, 2), words(&costs, 2));
    found.answer("long-rds-least", number(early[2] / early[0].min(early[1]), why));
    let without = last(&success_of(&varied("seidel-success-as-stated", trial, &[LONG])?)[2]);
    found.answer(
        "long-poor-because-of-the-pool",
        number(without - at_7[2], format!("{:.1} % and {without:.1} without a pool, after RDS at d = 7", at_7[2])),
    );
    Ok(())
}

pub(super) fn success(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let (calm, hit) = figure_3_11(4_096)?;
    let ms = |time: Nanos| time.as_us() / 1e3;
    let together = shifted(&Directed::new(4), 4_096, Protocol::Forced)?.cost();
    found.answer("concurrent-4k", number(ms(together), "four nodes that begin together"));
    found.answer("nonconcurrent-4k", super::ratio(hit, calm));
    found.answer("nonconcurrent-beyond-threshold", number(ms(hit), "the case of figure 3-11b"));
    found.answer("successes-stand-apart", stand_apart()?);
    let fitted = curves("seidel-success-calibrated", trial, found)?;
    let at_7 = fitted.with(&[("barrier", "gsync"), ("dimension", "7")]).values();
    found.answer("gsync-d7", Answer::Sample(at_7, FITTED.into()));
    let [literal, natural] = ["as-stated", "natural"].map(|name| curves(&format!("seidel-success-{name}"), trial, found));
    let (calibrated, literal, natural) = (success_of(&fitted), success_of(&literal?), success_of(&natural?));
    // Skew, contention and finding 3 of what the text leaves out: for the report.
    curves("seidel-success-skewed", trial, found)?;
    by_dimension(found, &calibrated, &literal, &natural);
    let sizes = ("sweep.bytes", r#"["4 KiB", "16 KiB", "64 KiB"]"#);
    let changes = [sizes, ("sweep.barrier", r#"["rds"]"#)];
    let mut rates: Vec<f64> = [&calibrated[2], &literal[2], &natural[2]].into_iter().flatten().copied().collect();
    for name in ["calibrated", "as-stated", "natural"] {
        rates.extend(varied(&format!("seidel-success-{name}"), trial, &changes)?.with(&[]).all("success_percent"));
    }
    found.answer("rds-forced-always", number(least(rates), "the least, all profiles, 4 to 64 KiB"));
    long_shifts(trial, found, last(&literal[2]))?;
    Ok(())
}

/// Figures 4-5 to 4-7: success over the length of the message, with the fitted interrupts.
pub(super) fn sizes(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("seidel-success-sizes", trial, found)?;
    let rates = |barrier, d| all.with(&[("barrier", barrier), ("dimension", d)]).all("success_percent");
    let each = |barrier, d, why: &str| Answer::Each(rates(barrier, d), format!("{}; {why}", words(&rates(barrier, d), 1)));
    found.answer("gsync-d7-at-every-size", each("gsync", "7", FITTED));
    found.answer("gsync-d5-over-size", each("gsync", "5", FITTED));
    let [gsync, sync0, rds] = BARRIERS.map(|barrier| all.with(&[("barrier", barrier)]).all("success_percent"));
    let above = gsync.iter().zip(&sync0).zip(&rds).map(|((gsync, sync0), rds)| rds - gsync.max(*sync0));
    found.answer("rds-above-others-at-every-size", number(least(above), "d = 2, 5, 7"));
    found.answer("rds-at-every-size", number(least(rds), "the least of d = 2, 5, 7"));
    Ok(())
}

/// Under which conditions gsync comes to the published rates.
const FITTED: &str = "interrupts of 70 us every 1 ms, fitted; skew carried";

fn by_dimension(found: &mut Findings, calibrated: &[Vec<f64>; 3], literal: &[Vec<f64>; 3], natural: &[Vec<f64>; 3]) {
    let [gsync, sync0, rds] = calibrated;
    found.answer("gsync-d2", number(gsync[0], FITTED));
    found.answer("gsync-d2-like-rds", number(gsync[0] / rds[0], FITTED));
    let rise = |values: &[f64]| most(values.windows(2).map(|pair| pair[1] - pair[0]));
    let some = |values: &[f64]| rise(&[values[0], values[3], values[5]]);
    let why = format!("{}; as stated, at d = 2, 5 and 7 of {}", words(gsync, 1), words(&literal[0], 1));
    found.answer("gsync-falls", number(rise(gsync).max(some(&literal[0])).max(some(&natural[0])), why));
    let (one_late, carried) = (last(&literal[0]), last(&natural[0]));
    found.answer("interrupts-explain-it", number(one_late.min(carried), "the less of the two forms"));
    found.answer("gsync-d7-one-late", number(one_late, "one node 600 us late, brought together between trials"));
    found.answer("gsync-d7-natural", number(carried, "skew carried over"));
    let outside = (3..6).filter(|&d| sync0[d] <= gsync[d] || sync0[d] > rds[d]).count();
    let why = format!("{} %; gsync {}, d = 5 to 7", words(&sync0[3..], 1), words(&gsync[3..], 1));
    found.answer("sync0-between", count(outside, why));
    found.answer("sync0-falls", number(sync0[0] - last(sync0), format!("{} %, d = 2 to 7", words(sync0, 1))));
}

/// The long protocol with counted headers.
fn long_shifts(trial: &TrialOptions, found: &mut Findings, forced: f64) -> Result<()> {
    curves("seidel-pool", trial, found)?;
    let early = success_of(&pooled(trial, 0, 50)?);
    let [gsync, sync0, rds] = &early;
    let better = (0..DIMENSIONS.len()).filter(|&d| gsync[d].max(sync0[d]) > rds[d]).count();
    let why = format!("{} %, d = 2 to 7; gsync {}; sync0 {}", words(rds, 1), words(gsync, 1), words(sync0, 1));
    found.answer("long-rds-best", count(better, why));
    let all = last(&success_of(&pooled(trial, 0, 200)?)[2]);
    found.answer("long-rds-erratic", number(forced - all, format!("{all:.1} % and {forced:.1} with forced messages, d = 7")));
    let late = last(&success_of(&pooled(trial, 150, 200)?)[2]);
    let first = last(&early[2]);
    let why = format!("{first:.1} % in trials 1 to 50 and {late:.1} in 151 to 200, d = 7");
    found.answer("long-falls-with-trials", number(first - late, why));
    Ok(())
}

/// Trials that are neither within 1 ms of the least shift nor half a message above it.
fn stand_apart() -> Result<Answer> {
    let (mut neither, mut all) = (0, 0);
    let profiles: [(Arbitration, Interrupts); 2] =
        [(Arbitration::Fifo, profile::AS_STATED), (Arbitration::Random, profile::CALIBRATED)];
    for (arbitration, interrupts) in profiles {
        for (barrier, dimension) in THREE.into_iter().flat_map(|barrier| (2..=7).map(move |d| (barrier, d))) {
            for seed in 1..=4 {
                let study = Study {
                    model: Circuits { arbitration, seed, ..profile::IPSC860 },
                    nodes: 1 << dimension,
                    interrupts: Some(interrupts),
                    faults: Faults::default(),
                    barrier: Some(barrier),
                    shift: Some(Shift { protocol: Protocol::Forced, bytes: M as u32 }),
                    skew: Skew::Carried,
                    resynchronised: false,
                    trials: 52,
                    skipped: 2,
                    seed,
                };
                let (am, least) = (study.model.bytes(M as u32), study.model.bytes(M as u32) + study.model.null);
                let between = least + Nanos::from_ms(1)..least + am.percent(50);
                let outcome = run(&study)?;
                neither += outcome.trials.iter().filter(|trial| between.contains(&trial.slowest().1)).count();
                all += outcome.trials.len();
            }
        }
    }
    let share = 100.0 * neither as f64 / f64::from(all as u32);
    Ok(number(share, format!("of {all} trials")))
}
