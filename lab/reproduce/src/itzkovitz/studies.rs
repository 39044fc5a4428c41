//! What programs do to help: LU's prefetches, WATER's chunks, TSP's units and its push (section 4.3 and what
//! follows).
use super::archive::{Archive, CHUNKS as LEVELS, EIGHT, TSP_SILENT, UNITS, tsp_in_units, water};
use super::costs::fault;
use super::programs::{PACE_PERCENT, Programme, pace, speedup};
use super::recording::{PAGE, Recording, bytes, total};
use super::scenario::{Replayed, Scenario};
use super::{count, number};
use crate::points::Points;
use crate::{Findings, TrialOptions};
use anyhow::Result;
use foregather_bench::apps::App;
use foregather_bench::apps::lu::Lu;
use foregather_bench::apps::tsp::Tsp;
use foregather_bench::apps::water::Water;
use foregather_dsm::node::WaitKind;
use foregather_dsm::protocol::Counts;
use foregather_dsm::replay::TimeSpent;
use foregather_dsm::replay::{Profile, Relaxed, RelaxedPrices};
use foregather_dsm::{Access, Minipage};
use foregather_machine::Nanos;

/// What TreadMarks published for WATER on eight processors (Keleher, Cox, Dwarkadas & Zwaenepoel 1994).
const RELAXED: f64 = 4.0;
const CHUNKS: Points = Points::itzkovitz(
    ["water-chunks", "WATER, simulated: the chunking level", "speedup on eight hosts", "x"],
    ["level", "hosts of"],
);

pub(super) fn prefetch(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let lu = Programme::of(&Archive::of(trial)?, Lu::NAME, Lu::NAME)?;
    let gain = |scenario: Scenario| -> Result<(f64, Replayed, Replayed)> {
        let scenario = lu.at(&scenario, PACE_PERCENT);
        let with = lu.eight().replay(&scenario)?;
        let without = lu.eight().replay(&Scenario { prefetches: 0, ..scenario })?;
        Ok((speedup(&without, &with), with, without))
    };
    let (late, with, _) = gain(Scenario::millipage_1999())?;
    let asked: u64 = with.threads.iter().map(|played| played.hints).sum();
    let why = format!("simulated on eight hosts of 1999; {asked} prefetches");
    found.answer("prefetch-helps", number(late, why));
    let (at_once, with, without) = gain(Scenario::event_driven_1999())?;
    let split = format!("{}, without them {}", waits(&with), waits(&without));
    let why = format!("if servers are told at once; {late:.3} if a sweeper tells them. A host's mean with them: {split}");
    found.answer("prefetch-not-needed", number(at_once, why));
    Ok(())
}

/// What a host waits for, by the mean of all, in milliseconds.
fn waits(show: &Replayed) -> String {
    let waited = show.waited();
    let ms = |kind| waited.span(kind).as_us() / 1e3 / show.threads.len() as f64;
    let (faults, ahead, barrier) = (ms(WaitKind::ReadFault), ms(WaitKind::Prefetch), ms(WaitKind::Barrier));
    format!(
        "{:.0} ms for {} faults, {ahead:.0} for prefetches, {barrier:.0} at barriers",
        faults,
        waited.count(WaitKind::ReadFault) / show.threads.len() as u64
    )
}

pub(super) fn chunks(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let archive = Archive::of(trial)?;
    // All together compute for as long as one of them, at each level.
    let at = |scenario: Scenario, run: &Recording| Scenario { pace_percent: pace(Water::NAME, run), ..scenario };
    let alone = archive.get(&water(1), 1)?;
    let one = alone.replay(&at(Scenario::millipage_1999(), &alone))?;
    let (mut all, mut first) = (vec![], None);
    for level in LEVELS {
        let run = archive.get(&water(level), EIGHT)?;
        for (series, scenario) in [("1999", Scenario::millipage_1999()), ("1999, no sweeper", Scenario::event_driven_1999())] {
            let show = run.replay(&at(scenario, &run))?;
            let quicker = speedup(&one, &show);
            let counts = total(&show.traffic);
            let point = CHUNKS.point(series, level as usize, vec![quicker]).figure("competing", f64::from(counts.competing));
            found.measurements.push(point.figure("bytes", bytes(&show.traffic, &run.lengths()) as f64));
            if series == "1999" {
                all.push((level, quicker));
            }
        }
        first.get_or_insert(run);
    }
    let first = first.expect("there is a level");
    let (then, told) = (at(Scenario::millipage_1999(), &first), at(Scenario::event_driven_1999(), &first));
    let best = all.iter().copied().reduce(|best: (u32, f64), next| if next.1 > best.1 { next } else { best }).unwrap_or_default();
    let text = all.iter().map(|(level, quicker)| format!("{quicker:.2} at {level}")).collect::<Vec<_>>().join(", ");
    let why = format!("simulated on eight hosts of 1999: {text}");
    found.answer("water-chunking-helps", number(best.1 / all[0].1, format!("level {}, {why}", best.0)));
    found.answer("water-optimum", number(f64::from(best.0), why));
    let pages = speedup(&one, &first.play_by_pages(&then)?);
    let modelled = relaxed(&first, &one, (&then, &told), found)?;
    let why = format!(
        "simulated; TreadMarks published {RELAXED}, its model comes to {modelled:.2}, this protocol by whole pages to {pages:.2}"
    );
    found.answer("water-comparable", number(best.1, why));
    let competing = total(&first.replay(&then)?.traffic).competing;
    found.answer("water-competing", count(competing.into(), "simulated, without chunks, in 4 rounds of forces"));
    Ok(())
}

/// The paper's (Table 1), and of reads of 128 bytes and of 4096 as simulated. To copy 4 KB is assumed to
/// take 40 us: 100 MB/s.
fn prices_of_1999(profile: &Profile, short: Nanos, page: Nanos) -> RelaxedPrices {
    let us = Nanos::from_us;
    let before = profile.fault + profile.inquiry + profile.residual;
    RelaxedPrices {
        write: before + profile.open,
        twin: us(40),
        fetch: short,
        further: us(12),
        page: page - short,
        diff: us(250),
        serve: us(12) * 2 + profile.lookup,
        close: profile.close,
        lock: [us(67), us(80)],
        barrier: [us(59), Nanos(13_400)],
    }
}

/// WATER by pages, with twins and diffs: how many times as quick it is than `one`.
fn relaxed(run: &Recording, one: &Replayed, (then, told): (&Scenario, &Scenario), found: &mut Findings) -> Result<f64> {
    let read = |bytes| Ok::<Nanos, anyhow::Error>(Nanos((fault(told, Access::Read, bytes, 0)? * 1e3) as u64));
    let prices = prices_of_1999(&then.profile, read(128)?, read(PAGE)?);
    let quicker = |pace_percent: u64| -> Result<(f64, Relaxed)> {
        let all = run.relax(pace_percent, &prices)?;
        // On one host it computes so much longer, too, and waits no longer.
        let TimeSpent { span, computed, .. } = one.threads[0];
        let one = (span - computed).0 as f64 + computed.0 as f64 * pace_percent as f64 / then.pace_percent as f64;
        Ok((one / all.span.0.max(1) as f64, all))
    };
    let (times, all) = quicker(then.pace_percent)?;
    let mut slower = 1;
    while slower < 64 && quicker(then.pace_percent * slower)?.0 < RELAXED {
        slower += 1;
    }
    let why = format!(
        "modelled: {} fetches, {} twins, {} diffs, {} KB of changes; {RELAXED} if hosts compute {slower} times as long; sequentially \
         consistent pages come to {:.2} if servers are told at once",
        all.fetches,
        all.twins,
        all.diffs,
        all.bytes / 1_024,
        speedup(one, &run.play_by_pages(told)?)
    );
    found.answer("water-relaxed", number(times, why));
    Ok(times)
}

/// What a run with a pool of tours in units of one size took.
struct Units {
    span_ms: f64,
    tours: Counts,
    bytes: u64,
    faults: u64,
}

/// Sites of TSP, in the order of its layout.
const TOURS: usize = 0;
const MINIMUM: usize = 3;

/// What managers counted of one site's minipages.
fn of_site(show: &Replayed, run: &Recording, site: usize) -> Vec<(Minipage, Counts)> {
    let minipages = &run.sites[site].minipages;
    show.traffic.iter().filter(|(minipage, _)| minipages.contains(minipage)).copied().collect()
}

pub(super) fn tours(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let archive = Archive::of(trial)?;
    let mut all = vec![];
    for unit_bytes in UNITS {
        let (run, show) = tour(&archive, &tsp_in_units(unit_bytes))?;
        let tours = of_site(&show, &run, TOURS);
        let (bytes, tours) = (bytes(&tours, &run.lengths()), total(&tours));
        all.push(Units { span_ms: show.span().as_us() / 1e3, tours, bytes, faults: u64::from(tours.reads + tours.writes) });
    }
    let text = |of: &dyn Fn(&Units) -> String| {
        UNITS.iter().zip(&all).map(|(unit, units)| format!("{unit} B: {}", of(units))).collect::<Vec<_>>().join(", ")
    };
    let (own, page) = (&all[1], &all[3]);
    let fewest = [&all[0], &all[2], page].map(|units| units.faults).into_iter().min().unwrap_or(0);
    let (copies, competing) = (text(&|units| units.faults.to_string()), text(&|units| units.tours.competing.to_string()));
    let why = format!("copies of tours given on eight hosts: {copies}; competing requests {competing}");
    found.answer("tsp-units-share-falsely", number(own.faults as f64 / fewest.max(1) as f64, why));
    let why =
        format!("simulated on eight hosts of 1999; {}", text(&|units| format!("{} B in {:.0} ms", units.bytes, units.span_ms)));
    found.answer("tsp-units-bytes", number(own.bytes as f64 / page.bytes.max(1) as f64, why));
    push(&archive, found)
}

/// A recording of TSP, as played on eight hosts of 1999.
fn tour(archive: &Archive, name: &str) -> Result<(Recording, Replayed)> {
    let run = archive.get(name, EIGHT)?;
    let show = run.replay(&Scenario { pace_percent: pace(Tsp::NAME, &run), ..Scenario::millipage_1999() })?;
    Ok((run, show))
}

fn push(archive: &Archive, found: &mut Findings) -> Result<()> {
    let reads = |name| -> Result<(u32, u64, f64)> {
        let (run, show) = tour(archive, name)?;
        let counts = total(&of_site(&show, &run, MINIMUM));
        Ok((counts.reads, show.waited().count(WaitKind::ReadFault), show.span().as_us() / 1e3))
    };
    let (with, without) = (reads(Tsp::NAME)?, reads(TSP_SILENT)?);
    let why = format!(
        "simulated on eight hosts of 1999: {} reads of the minimum with it, {} without; {:.0} and {:.0} ms",
        with.0, without.0, with.2, without.2
    );
    found.answer("tsp-push", number(f64::from(with.0) / f64::from(without.0.max(1)), why));
    found.answer(
        "tsp-push-faults",
        number(with.1 as f64 / without.1.max(1) as f64, "read faults of all kinds with it, to those without"),
    );
    Ok(())
}
