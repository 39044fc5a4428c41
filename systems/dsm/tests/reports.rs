//! Reports name the line of each allocation that is falsely shared or has races, in programs written for
//! this, and no other line.
#[path = "here/on_ranks.rs"]
mod on_ranks;

use foregather_dsm::journal::{Journal, contention, races, sharing, trace};
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Site, Thread, run};
use foregather_dsm::protocol::Counts;
use foregather_dsm::{Access, Minipage};
use foregather_machine::Error;
use foregather_shm::Lane;
use foregather_thread as threads;
use foregather_wait::Policy;
use on_ranks::on_ranks;

type OfThread<'t> = Thread<'t, Lane<threads::Thread>>;

/// The records of a run.
struct Written {
    journals: Vec<Journal>,
    sites: Vec<Site>,
    traffic: Vec<(Minipage, Counts)>,
}

impl Written {
    fn sharing(&self) -> sharing::Sharing {
        sharing::find(&self.journals, &self.sites)
    }

    fn races(&self) -> races::Races {
        races::find(&self.journals, &self.sites)
    }
}

/// Runs a program on `ranks` ranks of `threads` threads, as threads of this process.
fn written<S: Sync>(
    (ranks, threads): (u32, u32),
    layout: impl Fn(&mut SharedAllocator) -> Result<S, Error> + Sync,
    program: impl Fn(&OfThread<'_>, &S) -> Result<(), Error> + Sync,
) -> Written {
    let settings = Settings { bytes: 1 << 16, threads, journal: 10_000, policy: Some(Policy::Block), ..Settings::default() };
    let served = on_ranks(ranks, threads, |_, lanes| run(lanes, settings, &layout, &program).unwrap());
    let sites = served[0].sites.clone();
    let traffic = served.iter().flat_map(|served| served.server.directory().counts().collect::<Vec<_>>()).collect();
    let journals = served.into_iter().flat_map(|served| served.leave().into_iter().filter_map(|end| end.journal)).collect();
    Written { journals, sites, traffic }
}

const ROUNDS: usize = 30;

/// Every rank repeatedly adds to a number of its own.
fn own_numbers(ranks: u32, unit: usize) -> (u32, Written) {
    let line = line!() + 1;
    let layout = |layout: &mut SharedAllocator| layout.array::<u64>(8, unit);
    let program = |thread: &OfThread<'_>, numbers: &Array<u64>| {
        let own = thread.rank() as usize;
        for _ in 0..ROUNDS {
            numbers.set(own, numbers.get(own) + 1);
            thread.barrier()?;
        }
        Ok(())
    };
    (line, written((ranks, 1), layout, program))
}

#[test]
fn false_sharing_is_named_with_its_line_and_cured_by_the_grain_that_is_told() {
    for ranks in [2, 4] {
        let faults = |all: &Written| all.traffic.iter().map(|(_, counts)| counts.reads + counts.writes).sum::<u32>();
        let (line, all) = own_numbers(ranks, 8);
        let found = all.sharing();
        let [shared] = &found.sites[..] else { panic!("{found}") };
        assert!(shared.place.contains(&format!("reports.rs:{line}:")), "{shared}");
        // In each round, each rank but one fetches the minipage from another one needlessly.
        assert!(shared.fetches.useless >= (ROUNDS as u64 - 2) * u64::from(ranks - 1), "{shared}");
        assert!(shared.fetches.essential == 0 && shared.waited_ns > 0, "{shared}");
        assert_eq!(shared.touched.len() as u32, ranks, "{shared}");
        let cure = shared.cure.as_ref().expect("units of a number each");
        assert_eq!((cure.unit_bytes, cure.level, cure.fetches.useless), (8, 1, 0), "{shared}");
        assert_eq!(all.races().races, [], "they touch different bytes");

        let (_, cured) = own_numbers(ranks, cure.unit_bytes as usize / 8);
        assert_eq!(cured.sharing().sites, []);
        assert!(faults(&cured) * 4 < faults(&all), "{} faults instead of {}", faults(&cured), faults(&all));
    }
}

#[test]
fn a_producer_and_its_consumers_share_truly() {
    let layout = |layout: &mut SharedAllocator| layout.array::<f64>(64, 16);
    let program = |thread: &OfThread<'_>, row: &Array<f64>| {
        for round in 0..ROUNDS {
            if thread.rank() == 0 {
                row.store(0, &[round as f64; 64]);
            }
            thread.barrier()?;
            assert_eq!(row.get(16 * thread.rank() as usize + 1), round as f64);
            thread.barrier()?;
        }
        Ok(())
    };
    let all = written((3, 1), layout, program);
    assert_eq!((all.sharing().sites, all.races().races), (vec![], vec![]), "{}", all.sharing());
}

#[test]
fn a_counter_without_a_lock_races_and_one_with_a_lock_or_added_to_at_once_does_not() {
    let counting = |add: fn(&OfThread<'_>, &Array<u64>) -> Result<(), Error>| {
        let line = line!() + 1;
        let layout = |layout: &mut SharedAllocator| layout.array::<u64>(2, 2);
        let program = |thread: &OfThread<'_>, counter: &Array<u64>| {
            thread.barrier()?;
            (0..5).try_for_each(|_| add(thread, counter))?;
            thread.barrier()?;
            assert!(counter.get(1) >= 5);
            Ok(())
        };
        let all = written((2, 2), layout, program);
        (line, all.races(), all.sharing())
    };
    let (line, races, _) = counting(|_, counter| {
        counter.set(1, counter.get(1) + 1);
        Ok(())
    });
    let race = &races.races[0];
    assert!(race.place.contains(&format!("reports.rs:{line}:")), "{races}");
    assert_eq!((race.elements.clone(), race.bytes.clone(), race.unit), (1..2, 8..16, 0), "{races}");
    assert!(race.touches.iter().all(|side| side.barriers == 1 && side.locks.is_empty()), "{races}");
    assert_eq!(races.races.len(), 2, "loads with stores, and stores with stores: {races}");

    let (_, races, sharing) = counting(|thread, counter| thread.locked(3, || counter.set(1, counter.get(1) + 1)));
    assert_eq!((races.races, sharing.sites), (vec![], vec![]));
    let (_, races, _) = counting(|_, counter| {
        counter.fetch_add(1, 1);
        Ok(())
    });
    assert_eq!(races.races, []);
    let (_, races, _) = counting(|thread, counter| thread.locked(thread.number(), || counter.set(1, counter.get(1) + 1)));
    assert_eq!(races.races.len(), 2, "a lock for each thread guards nothing: {races}");
    assert_eq!(races.races[0].touches.clone().map(|side| side.locks.len()), [1, 1]);
}

#[test]
fn a_minimum_that_is_changed_under_a_lock_and_read_without_one_is_a_race() {
    let mut line = 0;
    for push in [false, true] {
        let program = |thread: &OfThread<'_>, minimum: &Array<u32>| {
            if thread.number() == 0 {
                minimum.set(0, 1_000);
            }
            thread.barrier()?;
            for better in 0..10 {
                let mine = 900 - 10 * better - thread.number();
                if mine < minimum.get(0) {
                    thread.locked(1, || minimum.set(0, minimum.get(0).min(mine)))?;
                    if push {
                        thread.push(minimum, 0..1)?;
                    }
                }
            }
            Ok(())
        };
        line = line!() + 1;
        let all = written((3, 1), |layout: &mut SharedAllocator| layout.array::<u32>(1, 1), program);
        let races = all.races();
        let [race] = &races.races[..] else { panic!("{races}") };
        assert!(race.place.contains(&format!("reports.rs:{line}:")), "{races}");
        let mut sides = race.touches.clone().map(|side| (side.how, side.locks));
        sides.sort();
        assert_eq!(sides, [(races::How::Load, vec![]), (races::How::Store, vec![1])], "{races}");
    }
    assert!(line > 0);
}

#[test]
fn competing_requests_are_told_by_allocation_and_a_trace_has_all_threads() {
    let layout = |layout: &mut SharedAllocator| Ok((layout.array::<u64>(1, 1)?, layout.array::<u64>(4, 1)?));
    let program = |thread: &OfThread<'_>, (counter, own): &(Array<u64>, Array<u64>)| {
        for _ in 0..50 {
            counter.fetch_add(0, 1);
        }
        own.set(thread.rank() as usize, 1);
        thread.prefetch(own, 0..1, Access::Read)?;
        thread.barrier()
    };
    let all = written((4, 1), layout, program);
    let report = contention::by_site(&all.traffic, &all.sites);
    assert_eq!(report.rows.len(), 2, "{report}");
    assert!(report.rows.iter().all(|row| row.place.contains("reports.rs:")), "{report}");
    let text = trace::trace(&all.journals, &all.sites);
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let spans = parsed["traceEvents"].as_array().unwrap();
    for rank in 0..4 {
        let barrier = |span: &&serde_json::Value| span["pid"] == rank && span["name"] == "barrier";
        assert_eq!(spans.iter().filter(barrier).count(), 1);
    }
    assert!(spans.iter().any(|span| span["name"] == "write fault" && span["dur"].as_f64() > Some(0.0)), "{text}");
}
