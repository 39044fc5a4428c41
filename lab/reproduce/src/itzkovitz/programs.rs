//! The five programs on 1, 2, 4 and 8 hosts: speedups and where the time went (figure 6), and what the paper
//! says of them (section 4.3).
use super::archive::{Archive, CHUNK, EIGHT, HOSTS, TOURS, tsp_take, water};
use super::number;
use super::recording::Recording;
use super::scenario::{Replayed, Scenario};
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_bench::apps::App;
use foregather_bench::apps::is::Is;
use foregather_bench::apps::lu::Lu;
use foregather_bench::apps::sor::Sor;
use foregather_bench::apps::tsp::Tsp;
use foregather_bench::apps::water::Water;
use foregather_dsm::node::WaitKind;
use foregather_results::apps;

/// What the programs compute on one processor of today, from the start of the clock on, in milliseconds: an
/// AMD EPYC with a counter of 2.6 GHz, the least of a dozen runs, most of them beside other work. A number of
/// its own, since what a run here takes is 1 to 3 times that, as others use the machine: verdicts must not
/// depend on them.
const ALONE_MS: [(&str, f64); 5] = [("sor", 89.0), ("is", 92.0), ("lu", 86.0), ("water", 32.0), ("tsp", 900.0)];
/// How much longer a processor of 1999 computed, in percent: ten times the clock and three times the
/// instructions of a cycle. An assumption, the same for all programs.
pub(super) const PACE_PERCENT: u64 = 3_000;
/// Half of it, and twice as much: what a claim comes to then is told, too.
const PACES: [u64; 3] = [PACE_PERCENT / 2, PACE_PERCENT, PACE_PERCENT * 2];
/// No processor of the time was as slow as this.
const SLOWEST_PERCENT: u64 = 48_000;
/// With hosts of today what was computed here takes as long as it did.
const TODAY_PERCENT: u64 = 100;
const MS: f64 = 1e-6;

/// A program's journals, a recording for each number of hosts, and how to play them.
pub(super) struct Programme {
    name: &'static str,
    runs: Vec<Recording>,
    /// How long it computes, as a part of what was written down.
    scale: f64,
}

impl Programme {
    /// Takes the program's recordings on 1, 2, 4 and 8 hosts; `recording` is their name.
    pub(super) fn of(archive: &Archive, name: &'static str, recording: &str) -> Result<Self> {
        let runs = HOSTS.iter().map(|&hosts| archive.get(recording, hosts)).collect::<Result<Vec<Recording>>>()?;
        let scale = scale(name, &runs[0]);
        Ok(Self { name, runs, scale })
    }

    /// The run on eight hosts.
    pub(super) fn eight(&self) -> &Recording {
        &self.runs[HOSTS.len() - 1]
    }

    /// The scenario on which computing takes `pace_percent` percent of its time here.
    pub(super) fn at(&self, scenario: &Scenario, pace_percent: u64) -> Scenario {
        Scenario { pace_percent: (pace_percent as f64 * self.scale).max(1.0) as u64, ..scenario.clone() }
    }

    /// How many times as quick it is on eight hosts as on one.
    pub(super) fn speedup(&self, scenario: &Scenario, pace_percent: u64) -> Result<f64> {
        let scenario = self.at(scenario, pace_percent);
        Ok(speedup(&self.runs[0].replay(&scenario)?, &self.eight().replay(&scenario)?))
    }

    /// How slowly hosts must compute for eight to be close to linear, in words.
    fn nearly(&self, scenario: &Scenario) -> Result<String> {
        let reached = |pace: u64| Ok::<bool, anyhow::Error>(self.speedup(scenario, pace)? >= NEARLY);
        let (mut below, mut above) = (0, PACES[0]);
        while !reached(above)? {
            if above >= SLOWEST_PERCENT {
                return Ok(format!("{NEARLY} at no pace up to {} times as long as here", above / 100));
            }
            (below, above) = (above, above * 2);
        }
        while above - below > above / 20 {
            let middle = below.midpoint(above);
            if reached(middle)? { above = middle } else { below = middle }
        }
        Ok(format!("{NEARLY} if computing takes {} times as long as here", above.div_ceil(100)))
    }

    /// The figure: a run for every number of hosts.
    fn figure(&self, series: &str, scenario: &Scenario, pace_percent: u64, found: &mut Findings) -> Result<()> {
        let scenario = self.at(scenario, pace_percent);
        for (run, hosts) in self.runs.iter().zip(HOSTS) {
            let show = run.replay(&scenario)?;
            let m = apps::run(self.name, series, hosts, vec![show.span().0 as f64 * MS], parts(&show));
            let (faults, mean_us) = show.faults();
            found
                .measurements
                .push(m.figure("faults", faults as f64).figure("fault_us", mean_us).figure("frames", show.frames as f64));
        }
        Ok(())
    }
}

/// How long a program with the paper's input computes on one processor, as a part of what was written down.
fn scale(program: &str, alone: &Recording) -> f64 {
    let (_, ms) = ALONE_MS.into_iter().find(|&(name, _)| name == program).expect("it is one of the five");
    ms / MS / alone.computed().max(1) as f64
}

/// How long computing takes, in percent of what is recorded, if it takes [`PACE_PERCENT`] of its time today.
pub(super) fn pace(program: &str, run: &Recording) -> u64 {
    (PACE_PERCENT as f64 * scale(program, run)).max(1.0) as u64
}

/// How many times as quick.
pub(super) fn speedup(one: &Replayed, many: &Replayed) -> f64 {
    one.span().0 as f64 / many.span().0.max(1) as f64
}

/// Where a thread's time went, by the mean of all, in milliseconds. Serving others is part of computing: it
/// takes the same processor.
fn parts(show: &Replayed) -> [f64; apps::PARTS.len()] {
    let hosts = show.threads.len() as f64;
    let waited = show.waited();
    let kinds =
        [WaitKind::ReadFault, WaitKind::WriteFault, WaitKind::Upgrade, WaitKind::Prefetch, WaitKind::Lock, WaitKind::Barrier];
    let spans = kinds.map(|kind| waited.span(kind).0 as f64 * MS / hosts);
    let all: f64 = show.threads.iter().map(|played| played.span.0 as f64 * MS).sum::<f64>() / hosts;
    let mut parts = [all - spans.iter().sum::<f64>(); apps::PARTS.len()];
    parts[1..].copy_from_slice(&spans);
    parts
}

pub(super) fn figure6(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let archive = Archive::of(trial)?;
    let then = Scenario::millipage_1999();
    let mut draw = |programme: &Programme| -> Result<()> {
        programme.figure("simulated, 1999", &then, PACE_PERCENT, found)?;
        programme.figure("simulated, 1999, no sweeper", &Scenario::event_driven_1999(), PACE_PERCENT, found)?;
        programme.figure("simulated, today", &Scenario::modern(), TODAY_PERCENT, found)
    };
    let sor = Programme::of(&archive, Sor::NAME, Sor::NAME)?;
    let is = Programme::of(&archive, Is::NAME, Is::NAME)?;
    let lu = Programme::of(&archive, Lu::NAME, Lu::NAME)?;
    let water = Programme::of(&archive, Water::NAME, &water(CHUNK))?;
    let tsp = Programme::of(&archive, Tsp::NAME, Tsp::NAME)?;
    for programme in [&sor, &is, &lu, &water, &tsp] {
        draw(programme)?;
    }
    apps::speedups(&mut found.measurements);
    for (claim, programme) in [("is-speedup", &is), ("sor-speedup", &sor), ("lu-speedup", &lu)] {
        let all = PACES.iter().map(|&pace| programme.speedup(&then, pace)).collect::<Result<Vec<f64>>>()?;
        let why = format!(
            "simulated on eight hosts of 1999; {:.2} if they compute twice as fast, {:.2} half as fast; {}",
            all[0],
            all[2],
            programme.nearly(&then)?
        );
        found.answer(claim, number(all[1], why));
    }
    // Which rank takes which tour differs from run to run, and two of three faults are TSP's.
    let tours = (1..TOURS).map(|take| archive.get(&tsp_take(take), EIGHT)).collect::<Result<Vec<Recording>>>()?;
    found.answer("tsp-speedup", number(tsp.speedup(&then, PACE_PERCENT)?, "simulated on eight hosts of 1999"));
    service(&[&sor, &is, &lu, &water, &tsp], found)?;
    delays(&[&sor, &is, &lu, &water], &tsp, &tours, found)?;
    Ok(())
}

/// From there on eight hosts are close to linear.
const NEARLY: f64 = 7.0;

/// The share of eight hosts' time that they wait for faults, and what is left of it once servers are told at
/// once (figure 6, the caption).
fn service(all: &[&Programme], found: &mut Findings) -> Result<()> {
    let waits = |programme: &Programme, scenario: &Scenario| -> Result<(f64, f64)> {
        let show = programme.eight().replay(&programme.at(scenario, PACE_PERCENT))?;
        let (count, us) = show.faults();
        let hosts = show.threads.iter().map(|played| played.span.as_us()).sum::<f64>();
        Ok((count as f64 * us, count as f64 * us / hosts))
    };
    let (mut shares, mut left, mut words) = (vec![], vec![], vec![]);
    for programme in all {
        let (late, share) = waits(programme, &Scenario::millipage_1999())?;
        let (at_once, _) = waits(programme, &Scenario::event_driven_1999())?;
        words.push(format!("{} {:.1} %", programme.name, share * 100.0));
        shares.push(share);
        left.push(at_once / late.max(f64::MIN_POSITIVE));
    }
    let words = format!("simulated on eight hosts of 1999: {}", words.join(", "));
    found.answer("fault-service-small", Answer::Each(shares, words));
    found.answer("fault-service-shrinks", Answer::Each(left, "the five programs, if servers are told at once".into()));
    Ok(())
}

/// How long requests took, and how much of that was due to servers that were not told at once (section 4.3).
fn delays(all: &[&Programme], tsp: &Programme, tours: &[Recording], found: &mut Findings) -> Result<()> {
    let mean = |scenario: &Scenario, tour: &Recording| -> Result<(f64, String)> {
        let (mut count, mut sum, mut each) = (0, 0.0, vec![]);
        for (programme, run) in all.iter().map(|&programme| (programme, programme.eight())).chain([(tsp, tour)]) {
            // Recordings of other hours computed for other times; all are scaled to the same.
            let pace_percent = pace(programme.name, run);
            let (faults, us) = run.replay(&Scenario { pace_percent, ..scenario.clone() })?.faults();
            count += faults;
            sum += us * faults as f64;
            each.push(format!("{} {us:.0}", programme.name));
        }
        Ok((sum / f64::from(count as u32).max(1.0), each.join(", ")))
    };
    let (mut requests, mut delays, mut shares, mut why) = (vec![], vec![], vec![], [String::new(), String::new()]);
    for tour in [tsp.eight()].into_iter().chain(tours) {
        let (told, at_once) = mean(&Scenario::event_driven_1999(), tour)?;
        let (swept, late) = mean(&Scenario::millipage_1999(), tour)?;
        requests.push(swept);
        delays.push(swept - told);
        shares.push((swept - told) / swept);
        why = [
            format!("simulated, eight hosts, all programs: {late} us"),
            format!("{told:.0} us if servers are told at once: {at_once}"),
        ];
    }
    let [late, at_once] = why;
    found.answer("request-delay", Answer::Sample(requests, late));
    found.answer("server-share", Answer::Sample(shares, at_once));
    found.answer("server-delay", Answer::Sample(delays, "longer than if servers are told at once".into()));
    Ok(())
}
