//! Table 2: what the programs share and how often they synchronise; and what they send, as counted here and as played (section 4.3).
use super::recording::{Recording, bytes, faults, record, total};
use super::stage::Scenario;
use super::{count, holds};
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_apps::is::Is;
use foregather_apps::lu::Lu;
use foregather_apps::sor::Sor;
use foregather_apps::tsp::Tsp;
use foregather_apps::water::Water;
use foregather_dsm::journal::Operation;
use foregather_dsm::node::WaitKind;
use foregather_machine::Nanos;
use std::ops::RangeInclusive;

/// The paper's hosts.
const HOSTS: u32 = 8;
/// Counts that should be the same are, but for so much: which of two is first is a matter of time where two may come at once.
const SAME: f64 = 0.02;

pub(super) fn table2(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let programs = [
        ("sor", record(&Sor::paper().into(), HOSTS)?),
        ("is", record(&Is::paper().into(), HOSTS)?),
        ("lu", record(&Lu { prefetch: false, ..Lu::paper() }.into(), HOSTS)?),
        ("water", record(&Water::paper().into(), HOSTS)?),
        ("tsp", record(&Tsp::paper().into(), HOSTS)?),
    ];
    let of = |name: &str| &programs.iter().find(|(other, _)| *other == name).expect("it is one of the five").1;
    // IS counts from the start of the clock on: what it does before is its warm-up.
    let barriers = |name: &str| {
        let events = &of(name).journals[0].events;
        let start = events.iter().position(|event| name == "is" && event.what == Operation::Start).unwrap_or(0);
        events[start..].iter().filter(|event| event.what == Operation::Barrier).count() as u64
    };
    let locks = |name: &str| of(name).events().filter(|event| matches!(event.what, Operation::Lock(_))).count() as u64;
    let counted = "counted while it ran on eight ranks";
    for (claim, name) in [
        ("sor-barriers", "sor"),
        ("is-barriers", "is"),
        ("lu-barriers", "lu"),
        ("water-barriers", "water"),
        ("tsp-barriers", "tsp"),
    ] {
        found.answer(claim, count(barriers(name), counted));
    }
    found.answer("water-locks", count(locks("water"), counted));
    found.answer("tsp-locks", count(locks("tsp"), counted));
    let tsp = Tsp::paper();
    let unit = u64::from(tsp.unit_bytes.next_multiple_of(8));
    found.answer(
        "tsp-views",
        count(4_096 / unit, format!("a tour of {} bytes takes {unit}, so that its words are whole", tsp.unit_bytes)),
    );
    let shared = |name: &str| of(name).lengths().iter().map(|&bytes| u64::from(bytes)).sum::<u64>() / 1_024;
    found.answer("water-shared", count(shared("water"), "molecules, and sums of energies"));
    found.answer("tsp-shared", count(shared("tsp"), "tours, their queue, and what else is shared"));
    for name in ["sor", "is", "lu"] {
        same(name, of(name), &mut found)?;
    }
    grains(&programs, &mut found)?;
    Ok(found)
}

/// Faults and copies, while it ran and as played.
fn same(name: &str, run: &Recording, found: &mut Findings) -> Result<()> {
    let show = run.replay(&Scenario::event_driven_1999())?;
    let (measured, played) = (run.waited(), show.waited());
    let (here, there) = (total(&run.outcome.traffic), total(&show.traffic));
    let lengths = run.lengths();
    let pairs = [
        ("faults", faults(&measured), faults(&played)),
        ("upgrades", measured.count(WaitKind::Upgrade), played.count(WaitKind::Upgrade)),
        ("copies to read", here.reads.into(), there.reads.into()),
        ("copies to write", here.writes.into(), there.writes.into()),
        ("invalidations", here.invalidated.into(), there.invalidated.into()),
        ("bytes", bytes(&run.outcome.traffic, &lengths), bytes(&show.traffic, &lengths)),
    ];
    let off = |one: u64, other: u64| one.abs_diff(other) as f64 <= SAME * one.max(other) as f64;
    // Of SOR only the bounds are known, and both must be within.
    let all = if name == "sor" {
        let bounds = faults_of(&Sor::paper());
        [&measured, &played].iter().all(|waited| bounds.contains(&faults(waited)))
    } else {
        pairs.iter().all(|&(_, one, other)| off(one, other))
    };
    let text = pairs.iter().map(|(what, one, other)| format!("{what} {one}/{other}")).collect::<Vec<_>>().join(", ");
    let claim = match name {
        "sor" => "sor-counts",
        "is" => "is-counts",
        _ => "lu-counts",
    };
    found.answer(claim, holds(all, text, "measured on eight ranks here, and played"));
    Ok(())
}

/// How many faults SOR has from the start of the clock on. In each half iteration each row at a border is written once and read once
/// by the neighbour, and either is a fault if the other was there since the last time. If they come in the same order as before both are,
/// if in the other order the one that comes first is not. A reader that comes while a row is being written makes for one more.
fn faults_of(sor: &Sor) -> RangeInclusive<u64> {
    let (rows, halves) = (2 * (u64::from(HOSTS) - 1), 2 * (sor.iterations as u64 - 1));
    let least = rows * halves;
    least..=((2 * least) as f64 * (1.0 + SAME)) as u64
}

/// By minipages and by pages.
fn grains(programs: &[(&str, Recording)], found: &mut Findings) -> Result<()> {
    let stage = Scenario::event_driven_1999();
    let (mut low, mut text) = (true, vec![]);
    for (name, run) in programs {
        let (fine, coarse) = (run.replay(&stage)?, run.play_by_pages(&stage)?);
        let (one, other) = (fine.faults().0, coarse.faults().0);
        low &= one <= other || fine.span() < coarse.span();
        text.push(format!("{name} {one}/{other} faults, {:.1} times as quick", ratio(coarse.span(), fine.span())));
    }
    found.answer(
        "fine-grain",
        holds(low, text.join(", "), "by minipages and by pages, played on eight hosts that compute as they do here"),
    );
    Ok(())
}

fn ratio(one: Nanos, other: Nanos) -> f64 {
    one.0 as f64 / other.0.max(1) as f64
}
