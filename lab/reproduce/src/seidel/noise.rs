//! An empty loop on a simulated node (§3.3, figures 3-9 and 3-10): what interrupts do to it, and the line that ignores them.
use super::directed::Ipsc;
use super::number;
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_barrier::SignalCost;
use foregather_bench::{fit, noise as trace};
use foregather_machine::{Clock, Error, Nanos};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Interrupts, Network, profile};

/// Iterations of a trial of figure 3-9.
const ITERATIONS: u64 = 10_833;
/// The loop's law: nanoseconds an iteration, and at none. It is put in; what is tried is that it comes out again.
const ITERATION_NS: u64 = 126;
const BEGIN_NS: u64 = 2_000;

const fn cost(iterations: u64) -> Nanos {
    Nanos(BEGIN_NS + ITERATION_NS * iterations)
}

/// Loops of so many iterations each on one node: when each began, and how long it took.
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

pub(super) fn noise(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let watched = loops(&[ITERATIONS; 2_000], Some(profile::AS_STATED))?;
    let floor = trace::floor(&watched);
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
    let (slope, intercept) = fit::line(&points);
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
    Ok(found)
}
