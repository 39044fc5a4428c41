//! What disturbs nodes: interrupts of a barrier (Seidel & Davis 1992, §3.4), and the busy loop of figures 3-9
//! and 3-10.
use super::directed::{Directed, Ipsc, M};
use super::directed::{GSYNC, RDS, slowest, synchronised, synchronised_shift};
use super::scenes::scenes;
use super::{count, number, us};
use crate::points::Points;
use crate::{Findings, TrialOptions};
use anyhow::{Context, Result};
use foregather_barrier::{Algorithm, SignalCost};
use foregather_bench::noise as trace;
use foregather_machine::{Clock, Error, Nanos, Rank};
use foregather_message::{Protocol, Ring};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Business, Circuits, Faults, Interrupts, Network, Record, Skew, profile};
use foregather_simulate::network::{self, Study, run, run_recorded};

/// Node 0 of four comes so late that all others wait for it.
fn four() -> Directed {
    Directed::new(4).late(0, 200)
}

/// When a null message from one node to another arrives, the last of them.
fn heard(record: &Record, from: Rank, to: Rank) -> Result<Nanos> {
    let circuits = record.0.iter().filter(|circuit| (circuit.from, circuit.to) == (from, to));
    circuits.map(|circuit| circuit.arrived).max().context("no message from there")
}

/// The shift of the case, without an interrupt and with one of that length at node 2, just after it has heard
/// of node 0.
fn shifts(kind: Algorithm, bytes: usize, length: Nanos) -> Result<(Nanos, Nanos)> {
    let calm = synchronised_shift(&four(), kind, bytes, Protocol::Forced)?;
    let at = synchronised(&four(), kind).and_then(|played| heard(&played.record, 0, 2))?;
    let hit = synchronised_shift(&four().interrupted(2, at, length), kind, bytes, Protocol::Forced)?;
    Ok((slowest(&calm), slowest(&hit)))
}

/// The forced shift after gsync: undisturbed, and as in figure 3-11b.
pub(super) fn figure_3_11(bytes: usize) -> Result<(Nanos, Nanos)> {
    shifts(GSYNC, bytes, Nanos::from_us(50))
}

pub(super) fn interrupt(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    found.timelines = scenes("interrupt")?;
    let (calm, hit) = figure_3_11(M)?;
    found.answer("fig3-11a-concurrent", us(calm));
    found.answer("fig3-11b-twice", super::ratio(hit, calm));
    let (calm, hit) = shifts(RDS, M, Nanos::from_us(50))?;
    found.answer("fig3-12-not-twice", super::ratio(hit, calm));
    let harms = |kind, length| shifts(kind, M, Nanos::from_us(length)).map(|(calm, hit)| hit > calm.percent(150));
    let mut longest = 0;
    for length in 1..=65 {
        if !harms(GSYNC, length)? {
            longest = longest.max(length);
        }
    }
    found.answer("longest-harmless-interrupt", number(longest as f64, "of 1 to 65 us"));
    let mut worst: f64 = 0.0;
    for length in 1..=65 {
        let (calm, hit) = shifts(RDS, M, Nanos::from_us(length))?;
        worst = worst.max(hit.0 as f64 / calm.0 as f64);
    }
    found.answer("rds-bears-65", number(worst, "the worst of 1 to 65 us"));
    neighbours(found)?;
    phase_one(found)?;
    many(found)?;
    Ok(())
}

/// How far apart neighbours on the ring leave gsync, one node late.
fn neighbours(found: &mut Findings) -> Result<()> {
    let mut most = Nanos::ZERO;
    for d in 2..=7_u64 {
        let size = 1 << d;
        let played = synchronised(&Directed::new(size).last_late(75 * d), GSYNC)?;
        for rank in 0..size {
            let next = Ring::of(rank, size)?.next;
            most = most.max(Nanos(played.ends[rank as usize].0.abs_diff(played.ends[next as usize].0)));
        }
    }
    found.answer("ring-neighbours-apart", us(most));
    found.answer("ring-neighbours-within-s", number(most.as_us(), "the most at d = 2 to 7"));
    Ok(())
}

/// 50 us at each node that receives in phase 1, at its first receipt.
fn phase_one(found: &mut Findings) -> Result<()> {
    let calm = synchronised(&Directed::new(8), RDS)?;
    let (mut worst, mut dearest) = (Nanos::ZERO, Nanos::ZERO);
    for node in (0..8).step_by(2) {
        let first = calm.record.0.iter().filter(|circuit| circuit.to == node).map(|circuit| circuit.arrived).min();
        let first = first.context("every inner node receives something")?;
        let hit = synchronised(&Directed::new(8).interrupted(node, first, Nanos::from_us(50)), RDS)?;
        (worst, dearest) = (worst.max(hit.precision()), dearest.max(hit.cost()));
    }
    let four = "the four nodes that receive in phase 1";
    found.answer("phase-1-only-costs", number(worst.as_us(), four));
    found.answer("phase-1-costs", number((dearest - calm.cost()).as_us(), four));
    Ok(())
}

fn as_stated(dimension: u32, kind: Algorithm, trials: u32) -> Study<Circuits> {
    Study {
        model: profile::IPSC860,
        nodes: 1 << dimension,
        interrupts: Some(profile::AS_STATED),
        faults: Faults::default(),
        barrier: Some(kind),
        shift: None,
        skew: Skew::One(Nanos::from_us(600)),
        resynchronised: true,
        trials,
        skipped: 0,
        seed: 11,
    }
}

/// Interrupts of `node` between two moments.
fn interrupts(record: &Record, node: Rank, from: Nanos, to: Nanos) -> usize {
    record.1.busy(node, from, to).iter().filter(|busy| busy.business == Business::Interrupted).count()
}

/// Random interrupts as stated.
fn many(found: &mut Findings) -> Result<()> {
    let worst = run(&as_stated(7, RDS, 1_000))?.trials.iter().map(|trial| trial.precision()).max().unwrap_or(Nanos::ZERO);
    let outcome = run_recorded(&as_stated(7, RDS, 50))?;
    let mut apart = 0;
    for trial in &outcome.trials {
        let end = trial.left.iter().copied().max().unwrap_or(Nanos::ZERO);
        // The last two phases: 7 hops and the longest wait.
        let begin = end - (profile::IPSC860.null * 7);
        let counts: Vec<usize> = (0..128).map(|node| interrupts(&outcome.record, node, begin, end)).collect();
        let spread = counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0);
        apart = apart.max(spread);
    }
    found.answer("as-many-interrupts-each", count(apart, "the most in 50 trials"));
    found.answer("rds-at-most-one-interrupt-apart", number(worst.as_us(), "the worst of 1000 trials"));
    let mut means = Vec::new();
    for d in 2..=7 {
        let outcome = run_recorded(&as_stated(d, GSYNC, 50))?;
        let each = |trial: &network::Trial| -> usize {
            let spans = trial.entered.iter().zip(&trial.left).enumerate();
            spans.map(|(node, (&from, &to))| interrupts(&outcome.record, node as Rank, from, to)).sum()
        };
        means.push(outcome.trials.iter().map(each).sum::<usize>() as f64 / outcome.trials.len() as f64);
    }
    let least = means.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min);
    let got = means.iter().map(|mean| format!("{mean:.2}")).collect::<Vec<_>>().join(" ");
    found.answer("more-nodes-more-interrupts", number(least, format!("{got} in one gsync, d = 2 to 7")));
    Ok(())
}

/// Iterations of a trial of figure 3-9.
const ITERATIONS: u64 = 10_833;
/// The loop's law: nanoseconds an iteration, and at none. It is put in; what is tried is that it comes out
/// again.
const ITERATION_NS: u64 = 126;
const BEGIN_NS: u64 = 2_000;

const fn cost(iterations: u64) -> Nanos {
    Nanos(BEGIN_NS + ITERATION_NS * iterations)
}

/// Loops of `lengths` iterations on one node: when each began, and how long it took.
fn loops(lengths: &[u64], interrupts: Option<Interrupts>) -> Result<Vec<(Nanos, Nanos)>> {
    let mut network = Network::<Calendar, _>::new(1, 1, profile::IPSC860)?;
    if let Some(interrupts) = interrupts {
        network = network.interrupted(interrupts, 3)?;
    }
    let nodes = network.nodes();
    let program = async |node: &Ipsc<'_>| {
        let mut times = Vec::with_capacity(lengths.len());
        for &iterations in lengths {
            let began = node.now();
            node.delay(cost(iterations)).await;
            times.push((began, node.now() - began));
        }
        Ok::<_, Error>(times)
    };
    let run = network.run(&nodes, |_| Nanos::ZERO, program);
    Ok(run.outputs.into_iter().flatten().next().unwrap_or(Ok(vec![]))?)
}

/// The first loops of the trace: enough to see the period.
const TRACED: usize = 120;
const TRACE: Points = Points::seidel(
    ["loop-trace", "Figure 3-9, simulated: what the same loop takes longer than its least", "more than the least", "us"],
    "trial",
);
const LINE: Points =
    Points::seidel(["loop-line", "Figure 3-10, simulated: what k iterations take", "k iterations", "us"], "iterations");

pub(super) fn noise(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let watched = loops(&[ITERATIONS; 2_000], Some(profile::AS_STATED))?;
    let floor = trace::floor(&watched);
    let trials = watched.iter().take(TRACED).enumerate();
    found.measurements.extend(trials.map(|(trial, &(_, took))| TRACE.point("a loop", trial + 1, vec![(took - floor).as_us()])));
    let interruptions = trace::interruptions(&watched, floor, Nanos::from_us(1));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let lengths: Vec<f64> = interruptions.iter().map(|(_, length)| length.as_us()).collect();
    let periods: Vec<f64> = interruptions.windows(2).map(|pair| (pair[1].0 - pair[0].0).0 as f64 / 1e6).collect();
    found.answer("loop-iterations", number(floor.as_us(), "the floor of the trace"));
    let length = mean(&lengths);
    found.answer("interrupt-length", number(length, format!("the mean of {} in the trace", lengths.len())));
    found.answer("interrupt-period", number(mean(&periods), "the mean from one to the next"));
    found.answer("interrupts-below-tolerance", number(length, "their mean length"));
    let lengths: Vec<u64> = (0..1_200).map(|trial| (trial % 24 + 1) * 500).collect();
    let points: Vec<(f64, f64)> = lengths
        .iter()
        .zip(loops(&lengths, Some(profile::AS_STATED))?)
        .map(|(&iterations, (_, took))| (iterations as f64, took.as_us()))
        .collect();
    for length in (1..=24).map(|step| step * 500_usize) {
        let took = points.iter().filter(|(iterations, _)| *iterations == length as f64).map(|(_, took)| *took).collect();
        found.measurements.push(LINE.point("trials", length, took));
    }
    let (slope, intercept) = trace::line(&points);
    let disturbed = points.iter().filter(|(k, took)| *took > slope * k + intercept + 1.0).count();
    found.answer("loop-slope", number(slope, format!("{disturbed} of {} trials were disturbed", points.len())));
    found.answer("loop-intercept", number(intercept, "of the same fit"));
    let mut worst: f64 = 0.0;
    for dimension in 2..=7u32 {
        for wait in (0..1 << dimension).map(|rank| SignalCost::IPSC860.wait(rank, 1 << dimension)).filter(|wait| wait.0 > 0) {
            let iterations = ((wait.as_us() - intercept) / slope).round() as u64;
            let took = loops(&[iterations], None)?[0].1;
            worst = worst.max((took.as_us() - wait.as_us()).abs() / slope);
        }
    }
    found.answer("loop-waits-long-enough", number(worst, "the most that a wait is off by"));
    found.answer("ipsc2-interrupts", number(profile::IPSC2_INTERRUPTS.length.as_us(), "a note by Dunigan, 1991"));
    Ok(())
}
