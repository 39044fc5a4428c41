//! Barriers of Seidel & Davis 1992, §3.1 to §3.3, and the same bounds however late each node is.
use super::directed::{Directed, Ipsc, M};
use super::directed::{GSYNC, RDS, SYNC0, THREE, slowest, synchronised, synchronised_shift};
use super::scenes::scenes;
use super::{count, number, us};
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_barrier::{Algorithm, SignalCost, Subcube};
use foregather_machine::{Member, Nanos};
use foregather_message::{Protocol, Ring};
use foregather_sim::net::{Record, Skew, profile};

/// The delays of the paper's ranges.
const DELTAS: [u64; 7] = [0, 30, 75, 200, 374, 524, 700];

fn measured(kind: Algorithm, dimension: u32, late: u64) -> Result<(Nanos, Nanos)> {
    let played = synchronised(&Directed::new(1 << dimension).last_late(late), kind)?;
    Ok((played.cost(), played.precision()))
}

/// For how long the first null message from one node to another waited for its ports.
fn waited(record: &Record, from: u32, to: u32) -> Nanos {
    record
        .0
        .iter()
        .find(|circuit| (circuit.from, circuit.to) == (from, to))
        .map_or(Nanos::ZERO, |circuit| circuit.granted - circuit.asked)
}

pub(super) fn gsync(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    found.timelines = scenes("gsync")?;
    let (cost, precision) = measured(GSYNC, 3, 30)?;
    found.answer("gsync-close-cost", us(cost));
    found.answer("gsync-close-precision", us(precision));
    let late = synchronised(&Directed::new(8).last_late(75), GSYNC)?;
    found.answer("gsync-node-7-blocked", us(waited(&late.record, 7, 3)));
    found.answer("gsync-late-cost", us(late.cost()));
    found.answer("gsync-late-precision", us(late.ends[0] - late.ends[7]));
    let together = late.ends[..7].iter().filter(|&&end| end == late.ends[7]).count();
    found.answer("gsync-nobody-with-node-7", count(together, "that leave together with it"));
    let of = |late| measured(GSYNC, 7, late);
    let worst = [75, 200, 374, 524].into_iter().map(of).collect::<Result<Vec<_>>>()?;
    let most = |of: fn(&(Nanos, Nanos)) -> Nanos| worst.iter().map(of).max().unwrap_or(Nanos::ZERO);
    found.answer("gsync-d7-cost", us(most(|w| w.0)));
    found.answer("gsync-d7-precision", us(most(|w| w.1)));
    found.answer("gsync-twice", super::ratio(of(75)?.0, of(0)?.0));
    let (cost, precision) = of(700)?;
    found.answer("gsync-very-late-cost", us(cost));
    found.answer("gsync-very-late-precision", us(precision));
    Ok(())
}

pub(super) fn sync0(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    found.timelines = scenes("sync0")?;
    found.answer("sync0-close-cost", us(measured(SYNC0, 3, 30)?.0));
    found.answer("sync0-close-precision", us(measured(SYNC0, 3, 0)?.1));
    let late = synchronised(&Directed::new(8).last_late(75), SYNC0)?;
    found.answer("sync0-node-7-blocked", us(waited(&late.record, 7, 3)));
    found.answer("sync0-late-cost", us(late.cost()));
    found.answer("sync0-late-precision", us(Nanos(late.ends[3].0.abs_diff(late.ends[4].0))));
    found.answer("sync0-d7-cost", us(measured(SYNC0, 7, 75)?.0));
    let (mut cost, mut precision) = (Nanos::ZERO, Nanos::ZERO);
    for d in 2..=7 {
        let (one, other) = (measured(GSYNC, d, 75)?, measured(SYNC0, d, 75)?);
        cost = cost.max(Nanos(one.0.0.abs_diff(other.0.0)));
        precision = precision.max(Nanos(one.1.0.abs_diff(other.1.0)));
    }
    found.answer("sync0-like-gsync", number(cost.as_us(), "the most at d = 2 to 7"));
    found.answer("sync0-as-precise-as-gsync", number(precision.as_us(), "the most"));
    Ok(())
}

pub(super) fn rds(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    found.timelines = scenes("rds")?;
    found.answer("rds-cost", us(measured(RDS, 7, 524)?.0));
    let (mut others, mut worst) = (0, Nanos::ZERO);
    for d in 2..=7 {
        for late in DELTAS {
            let (cost, precision) = measured(RDS, d, late)?;
            others += usize::from(cost != Nanos::from_us(u64::from(2 * d) * 75 + late));
            worst = worst.max(precision);
        }
    }
    found.answer("rds-cost-everywhere", count(others, "costs of 42"));
    found.answer("rds-precision", us(worst));
    phases(found)?;
    found.answer("rds-waits", us(SignalCost::IPSC860.wait(0, 128)));
    subcubes(found)?;
    let hops = nearest_neighbours()?;
    found.answer("nearest-neighbours-only", count(hops.0, format!("of {} packets", hops.1)));
    let mut most: f64 = 0.0;
    for d in 2..=7 {
        let [gsync, sync0, rds] = [GSYNC, SYNC0, RDS].map(|kind| measured(kind, d, 75).map(|m| m.0));
        most = most.max(rds?.0 as f64 / gsync?.min(sync0?).0 as f64);
    }
    found.answer("rds-slightly-dearer", number(most, "the most at d = 2 to 7, one node 75 us late"));
    found.answer("rds-dear-when-close", super::ratio(measured(RDS, 7, 0)?.0, measured(GSYNC, 7, 0)?.0));
    Ok(())
}

/// When phase 1 ends, when phase 2 does, and which node is reached last.
fn phases(found: &mut Findings) -> Result<()> {
    let played = synchronised(&Directed::new(8).last_late(75), RDS)?;
    let arrivals = |node: u32| played.record.0.iter().filter(move |circuit| circuit.to == node).map(|circuit| circuit.arrived);
    let gathered = arrivals(0).max().unwrap_or(Nanos::ZERO);
    let reached = played.record.0.iter().map(|circuit| circuit.arrived).max().unwrap_or(Nanos::ZERO);
    found.answer("rds-phase-1", us(gathered));
    found.answer("rds-phase-2", us(reached - gathered));
    let mut others = 0;
    for d in 2..=7 {
        let (size, played) = (1 << d, synchronised(&Directed::new(1 << d).last_late(75), RDS)?);
        let last = played.record.0.iter().max_by_key(|circuit| circuit.arrived).map(|circuit| circuit.to);
        let waitless: Vec<u32> = (0..size).filter(|&rank| SignalCost::IPSC860.wait(rank, size) == Nanos::ZERO).collect();
        others += usize::from(last != Some(size - 1) || waitless != [size - 1]);
    }
    found.answer("rds-last-node", count(others, "d = 2 to 7"));
    Ok(())
}

/// Only the bits that differ count.
fn subcubes(found: &mut Findings) -> Result<()> {
    let played = Directed::new(128).run(async |node: &Ipsc<'_>| RDS.over(&Subcube::new(node, 0b101_0010, 0)?).await)?;
    let ends = [played.cost() - played.precision(), played.cost()].map(Nanos::as_us);
    found.answer("rds-subcube", Answer::Each(ends.to_vec(), "the first node to leave and the last".into()));
    let mut grid = Directed::new(64);
    grid.late = (0..64).map(|rank| (rank, Nanos::from_us(u64::from(rank / 8) * 130 + u64::from(rank % 8) * 11))).collect();
    let rows = grid.run(async |node: &Ipsc<'_>| {
        let row = Subcube::row(node, 0)?;
        let ring = Ring::of(row.rank(), row.size())?;
        ring.post(&row, 1)?;
        RDS.over(&row).await?;
        let left = node.ideal();
        ring.shift(&row, 1, &vec![0; M], &mut [], Protocol::Forced).await?;
        Ok(left)
    })?;
    found.answer("rds-rows-of-a-grid", us(slowest(&rows)));
    Ok(())
}

/// Packets over more than one link, and all packets, of the three barriers and their shifts at d = 7.
fn nearest_neighbours() -> Result<(usize, usize)> {
    let (mut far, mut all) = (0, 0);
    for kind in THREE {
        let played = synchronised_shift(&Directed::new(128), kind, M, Protocol::Forced)?;
        far += played.record.0.iter().filter(|circuit| (circuit.from ^ circuit.to).count_ones() != 1).count();
        all += played.record.0.len();
    }
    Ok((far, all))
}

/// The largest lateness of a draw, in microseconds: five below b_s, six from it on.
const LATE_DELTAS: [u64; 11] = [5, 15, 30, 50, 74, 75, 120, 200, 374, 524, 700];
const DRAWS: u32 = 6;

/// By how much a bound was exceeded at most, in microseconds; below zero if it never was reached.
struct Excess(f64);

impl Excess {
    fn note(&mut self, got: Nanos, bound: Nanos) {
        self.0 = self.0.max(got.as_us() - bound.as_us());
    }
}

pub(super) fn lateness(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let none = || Excess(f64::NEG_INFINITY);
    let (mut close, mut close_precision, mut general, mut general_precision) = (none(), none(), none(), none());
    let (mut rds_cost, mut rds_precision) = (none(), none());
    let (hop, apart) = (profile::IPSC860.null, profile::IPSC860.null - profile::IPSC860.send);
    for d in 2..=7_u32 {
        let steps = u64::from(d);
        for (delta, draw) in LATE_DELTAS.into_iter().flat_map(|delta| (1..=DRAWS).map(move |draw| (delta, draw))) {
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
    Ok(())
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
