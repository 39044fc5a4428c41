//! Recorded journals as one file: each recording is packed by itself, without what no replay looks at.
use super::recording::{Recording, record_once, record_quietly};
use crate::TrialOptions;
use anyhow::{Context, Result, bail};
use foregather_bench::apps::App;
use foregather_bench::apps::is::Is;
use foregather_bench::apps::lu::Lu;
use foregather_bench::apps::sor::Sor;
use foregather_bench::apps::tsp::Tsp;
use foregather_bench::apps::water::Water;
use foregather_bench::programs::Program;
use foregather_dsm::Minipage;
use foregather_dsm::journal::{Bytes, Event, Journal, Operation};
use foregather_dsm::memory::Site;
use foregather_host::interrupt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The recordings by which all machines judge.
const SHIPPED: &[u8] = include_bytes!("../../../../papers/journals/itzkovitz-schuster1999.bin");
/// The first bytes of such a file.
const MARK: &[u8; 8] = b"fgjour1\n";
/// Hosts that the paper had.
pub(super) const HOSTS: [u32; 4] = [1, 2, 4, 8];
/// Most hosts.
pub(super) const EIGHT: u32 = HOSTS[HOSTS.len() - 1];
/// WATER's chunking levels.
pub(super) const CHUNKS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// The level at which WATER stands in figure 6.
pub(super) const CHUNK: u32 = 4;
/// Units of TSP, in bytes: a tour's length, powers of two around it, and a page.
pub(super) const UNITS: [u32; 4] = [128, 148, 256, 4_096];
/// Recordings of TSP on eight hosts: no two runs are alike, and they differ more from one hour to the next.
pub(super) const TOURS: usize = 5;
/// Computing is kept in steps of this many nanoseconds; what is left over counts for the next event.
const STEP_NS: u64 = 250;

/// The name of WATER's recording at a chunking level.
pub(super) fn water(level: u32) -> String {
    format!("{}-{level}", Water::NAME)
}

/// The name of TSP's recording with units of this length.
pub(super) fn tsp_in_units(bytes: u32) -> String {
    if bytes == Tsp::paper().unit_bytes { Tsp::NAME.to_owned() } else { format!("{}-{bytes}", Tsp::NAME) }
}

/// The name of one of TSP's recordings on eight hosts.
pub(super) fn tsp_take(take: usize) -> String {
    if take == 0 { Tsp::NAME.to_owned() } else { format!("{}-take-{take}", Tsp::NAME) }
}

/// LU without prefetches, and TSP without its push.
pub(super) const LU_UNHINTED: &str = "lu-unhinted";
pub(super) const TSP_SILENT: &str = "tsp-silent";

/// Recordings by name and number of hosts.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Archive {
    packed: Vec<(String, u32, Vec<u8>)>,
}

/// What a replay looks at.
#[derive(Serialize, Deserialize)]
struct PackedRun {
    /// Bytes of an element and of a unit, units to a minipage; first minipage and number of minipages.
    sites: Vec<([u32; 3], u32, u32)>,
    minipages: u32,
    /// What each thread does, and the steps that it computes before each event: apart, they pack better.
    journals: Vec<(Vec<Operation>, Vec<u64>)>,
}

impl Archive {
    /// The recordings that a trial is judged by.
    pub(super) fn of(trial: &TrialOptions) -> Result<Self> {
        match &trial.journals {
            None => Self::read(SHIPPED),
            Some(file) => Self::read(&std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?),
        }
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let Some(packed) = bytes.strip_prefix(MARK) else {
            bail!("these are no recorded journals of this version; record them again by `foregather reproduce --record`");
        };
        Ok(postcard::from_bytes(packed)?)
    }

    fn written(&self) -> Result<Vec<u8>> {
        Ok(postcard::to_extend(self, MARK.to_vec())?)
    }

    /// The recording of that name on `hosts` hosts.
    pub(super) fn get(&self, name: &str, hosts: u32) -> Result<Recording> {
        let found = self.packed.iter().find(|(other, on, _)| other == name && *on == hosts);
        let (_, _, packed) = found.with_context(|| format!("no journals of {name} on {hosts} hosts are in the archive"))?;
        let bytes = miniz_oxide::inflate::decompress_to_vec(packed).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok(postcard::from_bytes::<PackedRun>(&bytes)?.restored())
    }

    /// The recordings of TSP on eight hosts, each by the name that it has once a new one is the first.
    fn older_takes(self) -> BTreeMap<String, Vec<u8>> {
        let older = |(name, hosts, packed): (String, u32, Vec<u8>)| {
            let take = (0..TOURS - 1).find(|&take| hosts == EIGHT && tsp_take(take) == name)?;
            Some((tsp_take(take + 1), packed))
        };
        self.packed.into_iter().filter_map(older).collect()
    }

    /// Adds a recording; the bytes of its touches are kept only if asked for.
    fn put(&mut self, name: &str, hosts: u32, run: &Recording, with_bytes: bool) -> Result<()> {
        let bytes = postcard::to_stdvec(&PackedRun::of(run, with_bytes)?)?;
        self.packed.push((name.to_owned(), hosts, miniz_oxide::deflate::compress_to_vec(&bytes, 9)));
        Ok(())
    }
}

impl PackedRun {
    fn of(run: &Recording, with_bytes: bool) -> Result<Self> {
        let mut sites = vec![];
        for site in &run.sites {
            let first = site.minipages.first().map_or(0, |minipage| minipage.0);
            if site.minipages.iter().zip(first..).any(|(minipage, expected)| minipage.0 != expected) {
                bail!("the minipages of {} do not follow each other", site.place);
            }
            sites.push(([site.element_bytes, site.unit_bytes, site.level], first, site.minipages.len() as u32));
        }
        let journals = run.journals.iter().map(|journal| kept_events(&journal.events, with_bytes)).collect();
        Ok(Self { sites, minipages: run.minipages, journals })
    }

    fn restored(self) -> Recording {
        let site = |([element_bytes, unit_bytes, level], first, count): ([u32; 3], u32, u32)| Site {
            place: String::new(),
            element_bytes,
            unit_bytes,
            level,
            minipages: (first..first + count).map(Minipage).collect(),
        };
        let event = |(what, steps)| Event { computed_ns: steps * STEP_NS, at_ns: 0, waited_ns: 0, what };
        let journal = |(rank, (did, steps)): (u32, (Vec<_>, Vec<_>))| Journal {
            rank,
            thread: rank,
            events: did.into_iter().zip(steps).map(event).collect(),
            missed: 0,
        };
        Recording {
            journals: (0..).zip(self.journals).map(journal).collect(),
            sites: self.sites.into_iter().map(site).collect(),
            minipages: self.minipages,
        }
    }
}

fn kept_events(events: &[Event], with_bytes: bool) -> (Vec<Operation>, Vec<u64>) {
    let mut owed_ns = 0;
    let kept = |event: &Event| {
        let ns = event.computed_ns + owed_ns;
        owed_ns = ns % STEP_NS;
        let mut what = event.what.clone();
        if let Operation::Touch { bytes, .. } = &mut what
            && !with_bytes
        {
            *bytes = Bytes::default();
        }
        (what, ns / STEP_NS)
    };
    events.iter().map(kept).unzip()
}

/// A recording that is to be made.
struct Planned {
    name: String,
    hosts: u32,
    program: Program,
    /// The recording on one host that says how long all hosts together compute.
    alone: String,
    /// Whether all runs share out their work alike, so that the quickest of several counts.
    alike: bool,
}

fn planned(name: impl Into<String>, hosts: u32, program: &Program, alone: &str) -> Planned {
    Planned { name: name.into(), hosts, program: program.clone(), alone: alone.to_owned(), alike: alone != Tsp::NAME }
}

/// All recordings; those on one host before those that are divided by them.
fn catalogue() -> Vec<Planned> {
    let tsp = |unit_bytes, push| -> Program { Tsp { unit_bytes, push, ..Tsp::paper() }.into() };
    let own: Program = Tsp::paper().into();
    let take = |number| planned(tsp_take(number), EIGHT, &own, Tsp::NAME);
    let mut all: Vec<Planned> = HOSTS.iter().map(|&hosts| planned(Tsp::NAME, hosts, &own, Tsp::NAME)).collect();
    let lu: Program = Lu::paper().into();
    for (number, (name, program)) in (1..).zip([(Sor::NAME, Sor::paper().into()), (Is::NAME, Is::paper().into()), (Lu::NAME, lu)])
    {
        all.extend(HOSTS.iter().map(|&hosts| planned(name, hosts, &program, name)));
        all.push(take(number));
    }
    all.push(planned(LU_UNHINTED, EIGHT, &Lu { prefetch: false, ..Lu::paper() }.into(), Lu::NAME));
    let chunked = |chunk| -> Program { Water { chunk, ..Water::paper() }.into() };
    all.push(planned(water(1), 1, &chunked(1), &water(1)));
    all.extend(HOSTS[..HOSTS.len() - 1].iter().map(|&hosts| planned(water(CHUNK), hosts, &chunked(CHUNK), &water(CHUNK))));
    all.extend(CHUNKS.map(|level| planned(water(level), EIGHT, &chunked(level), &water(CHUNK))));
    all.push(take(TOURS - 1));
    let others = UNITS.into_iter().filter(|&bytes| bytes != Tsp::paper().unit_bytes);
    all.extend(others.map(|bytes| planned(tsp_in_units(bytes), EIGHT, &tsp(bytes, true), Tsp::NAME)));
    all.push(planned(TSP_SILENT, EIGHT, &tsp(Tsp::paper().unit_bytes, false), Tsp::NAME));
    all
}

/// Runs the programs and packs their journals. Of an `earlier` file, all but the oldest recording of TSP on
/// eight hosts are kept, so the recordings of a file that is recorded several times lie hours apart.
///
/// # Errors
/// If `earlier` is no such file, a program fails or is wrong, or the run is interrupted.
pub(crate) fn record_all(earlier: Option<&[u8]>, quiet: bool) -> Result<Vec<u8>> {
    let mut earlier = earlier.map(Archive::read).transpose()?.unwrap_or_default().older_takes();
    let (mut all, mut alone) = (Archive::default(), BTreeMap::<String, Recording>::new());
    for Planned { name, hosts, program, alone: by, alike } in catalogue() {
        if let Some(kept) = earlier.remove(&name) {
            all.packed.push((name, hosts, kept));
            continue;
        }
        let record = if alike { record_quietly } else { record_once };
        let run = record(&program, hosts, alone.get(&by).filter(|_| hosts > 1))?;
        if interrupt::requested() {
            bail!("interrupted: no journals were written");
        }
        if !quiet {
            eprintln!("recorded: {name} on {hosts} hosts");
        }
        // Only the model of relaxed consistency asks for bytes.
        all.put(&name, hosts, &run, name == water(1))?;
        if hosts == 1 {
            alone.insert(name, run);
        }
    }
    all.written()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_is_shipped_once_and_computes_as_long_as_alone() {
        let shipped = Archive::read(SHIPPED).unwrap();
        let named = |(name, hosts): (String, u32)| format!("{name} {hosts}");
        let mut expected: Vec<String> = catalogue().into_iter().map(|one| named((one.name, one.hosts))).collect();
        let mut found: Vec<String> = shipped.packed.iter().map(|(name, hosts, _)| named((name.clone(), *hosts))).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        for one in catalogue().into_iter().filter(|one| (1..TOURS).all(|take| one.name != tsp_take(take))) {
            let (run, alone) = (shipped.get(&one.name, one.hosts).unwrap(), shipped.get(&one.alone, 1).unwrap());
            assert_eq!(run.journals.len(), one.hosts as usize, "{}", one.name);
            let part = run.computed() as f64 / alone.computed() as f64;
            assert!((0.99..1.01).contains(&part), "{} on {} hosts computes {part} of it", one.name, one.hosts);
        }
    }

    #[test]
    fn the_takes_of_an_earlier_file_move_back_by_one() {
        let take = |name: String, byte| (name, EIGHT, vec![byte]);
        let mut packed: Vec<_> = (0..).zip(0..TOURS).map(|(byte, number)| take(tsp_take(number), byte)).collect();
        packed.extend([(Tsp::NAME.to_owned(), 1, vec![9]), take(TSP_SILENT.to_owned(), 9)]);
        let kept = Archive { packed }.older_takes();
        let expected: Vec<(String, Vec<u8>)> = (0..).zip(1..TOURS).map(|(byte, number)| (tsp_take(number), vec![byte])).collect();
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn another_file_is_refused_and_a_missing_recording_is_named() {
        let error = Archive::read(b"{}").err().unwrap().to_string();
        assert!(error.contains("--record"), "{error}");
        let error = Archive::default().get("is", 3).err().unwrap().to_string();
        assert!(error.contains("is on 3 hosts"), "{error}");
    }
}
