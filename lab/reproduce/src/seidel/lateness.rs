//! Beyond the paper's one late node: every node comes as late as it likes, up to delta. Which of the formulas of §3.1 and §3.3 bound
//! what comes of it.
use super::directed::Directed;
use super::number;
use super::programs::{GSYNC, RDS, synchronised};
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_sim::net::{Skew, profile};

/// The largest lateness of a draw, in microseconds: five below b_s, six from it on.
const DELTAS: [u64; 11] = [5, 15, 30, 50, 74, 75, 120, 200, 374, 524, 700];
const DRAWS: u32 = 6;

/// By how much a bound was exceeded at most, in microseconds; below zero if it never was reached.
struct Excess(f64);

impl Excess {
    fn note(&mut self, got: Nanos, bound: Nanos) {
        self.0 = self.0.max(got.as_us() - bound.as_us());
    }
}

pub(super) fn lateness(_: &Trial) -> Result<Findings> {
    let none = || Excess(f64::NEG_INFINITY);
    let (mut close, mut close_precision, mut general, mut general_precision) = (none(), none(), none(), none());
    let (mut rds_cost, mut rds_precision) = (none(), none());
    let (hop, apart) = (profile::IPSC860.null, profile::IPSC860.null - profile::IPSC860.send);
    for d in 2..=7_u32 {
        let steps = u64::from(d);
        for (delta, draw) in DELTAS.into_iter().flat_map(|delta| (1..=DRAWS).map(move |draw| (delta, draw))) {
            let delta = Nanos::from_us(delta);
            let directed = drawn(d, delta, draw);
            let (gsync, rds) = (synchronised(&directed, GSYNC)?, synchronised(&directed, RDS)?);
            let flight = hop * steps + delta;
            if delta < hop {
                close.note(gsync.cost(), flight);
                close_precision.note(gsync.precision(), delta);
            } else {
                general.note(gsync.cost(), flight.max(hop * (2 * steps)));
                general_precision.note(gsync.precision(), apart * steps);
            }
            rds_cost.note(rds.cost(), hop * (2 * steps) + delta);
            rds_precision.note(rds.precision(), Nanos::ZERO);
        }
    }
    let mut found = Findings::default();
    let all = [
        ("lateness-gsync-close-cost", close),
        ("lateness-gsync-close-precision", close_precision),
        ("lateness-gsync-cost", general),
        ("lateness-gsync-precision", general_precision),
        ("lateness-rds-cost", rds_cost),
        ("lateness-rds-precision", rds_precision),
    ];
    for (id, Excess(excess)) in all {
        found.answer(id, number(excess, format!("d = 2 to 7, {DRAWS} draws of each delta")));
    }
    Ok(found)
}

/// Nodes that come evenly spread over delta, the first at 0 and the last at delta.
fn drawn(dimension: u32, delta: Nanos, draw: u32) -> Directed {
    let mut directed = Directed::new(1 << dimension);
    let late = |rank| Skew::Uniform(delta).of(rank, directed.nodes, draw, 7);
    let drawn: Vec<Nanos> = (0..directed.nodes).map(late).collect();
    let first = drawn.iter().copied().min().unwrap_or(Nanos::ZERO);
    let span = drawn.iter().copied().max().unwrap_or(Nanos::ZERO) - first;
    directed.late = (0..).zip(drawn.iter().map(|&late| Nanos((late - first).0 * delta.0 / span.0.max(1)))).collect();
    directed
}
