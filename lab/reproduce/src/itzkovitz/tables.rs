//! Table 2: what the programs share and how often they synchronise; and what they send, as counted here and as played (section 4.3).
use super::count;
use super::recording::{Recording, record};
use super::stage::Scenario;
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_apps::is::Is;
use foregather_apps::lu::Lu;
use foregather_apps::sor::Sor;
use foregather_apps::tsp::Tsp;
use foregather_apps::water::Water;
use foregather_dsm::journal::Operation;
use foregather_machine::Nanos;

/// The paper's hosts.
const HOSTS: u32 = 8;

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
    grains(&programs, &mut found)?;
    Ok(found)
}

/// By minipages and by pages.
fn grains(programs: &[(&str, Recording)], found: &mut Findings) -> Result<()> {
    let stage = Scenario::event_driven_1999();
    let (mut more, mut text) = (0, vec![]);
    for (name, run) in programs {
        let (fine, coarse) = (run.replay(&stage)?, run.play_by_pages(&stage)?);
        let (one, other) = (fine.faults().0, coarse.faults().0);
        more += u64::from(one > other && fine.span() >= coarse.span());
        text.push(format!("{name} {one}/{other} faults, {:.1} times as quick", ratio(coarse.span(), fine.span())));
    }
    found.answer(
        "fine-grain",
        count(
            more,
            format!("by minipages and by pages, played on eight hosts that compute as they do here: {}", text.join(", ")),
        ),
    );
    Ok(())
}

fn ratio(one: Nanos, other: Nanos) -> f64 {
    one.0 as f64 / other.0.max(1) as f64
}
