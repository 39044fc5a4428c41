//! The operations of a program on shared memory, on ranks that are threads of this process.
mod here;

use foregather_dsm::memory::{Advice, Array, Settings, SharedAllocator};
use foregather_dsm::node::WaitKind;
use foregather_dsm::views::Backend;
use foregather_message::collective::{maximum, minimum, sum};
use foregather_wait::Policy;
use here::{backends, ranks};

#[test]
fn no_update_of_a_shared_counter_is_lost() {
    const ROUNDS: u64 = 300;
    const COUNTERS: usize = 16;
    for backend in backends() {
        let manners = [(1, 2), (2, 1), (3, 1), (2, 2)].into_iter().flat_map(|of| [(of, true), (of, false)]);
        for ((count, threads), asking) in manners {
            let (backend, policy) = (Some(backend), Some(Policy::Block));
            let settings = Settings { bytes: 1 << 20, threads, backend, policy, asking, ..Settings::default() };
            let layout = |layout: &mut SharedAllocator| layout.array::<u64>(COUNTERS, 3);
            let sums = ranks(count, settings, layout, |thread, counters: &Array<u64>| {
                thread.barrier()?;
                for round in 0..ROUNDS {
                    counters.fetch_add((round as usize * 7 + thread.number() as usize) % COUNTERS, 1);
                }
                thread.barrier()?;
                Ok((0..COUNTERS).map(|at| counters.get(at)).sum::<u64>())
            });
            let all = ROUNDS * u64::from(count * threads);
            assert_eq!(sums, vec![all; (count * threads) as usize], "{settings:?}, {count} ranks");
        }
    }
    #[cfg(feature = "probes")]
    {
        let reached = foregather_machine::reached_in_process();
        assert!(["pages:11", "views:4", "views:6"].iter().all(|point| reached.contains_key(point)), "{reached:?}");
    }
}

/// The mprotect backend, for containers that forbid userfaultfd, needs more mappings. The kernel's default
/// limit must suffice.
#[test]
fn defaults_fit_into_the_mappings_of_a_process() {
    let settings = Settings { backend: Some(Backend::Mprotect), ..Settings::default() };
    let layout = |layout: &mut SharedAllocator| layout.array::<u64>(8, 1);
    let sums = ranks(2, settings, layout, |thread, all: &Array<u64>| {
        all.set(thread.number() as usize, 21);
        thread.barrier()?;
        Ok((0..all.len()).map(|at| all.get(at)).sum::<u64>())
    });
    assert_eq!(sums, [42, 42]);
}

#[test]
fn long_units_locks_and_pushes_work_on_real_pages() {
    for backend in backends() {
        let settings = Settings { bytes: 4 << 20, backend: Some(backend), policy: Some(Policy::Block), ..Settings::default() };
        let layout = |layout: &mut SharedAllocator| Ok((layout.array::<f64>(30_000, 10_000)?, layout.array::<u32>(8, 8)?));
        let sums = ranks(3, settings, layout, |thread, (rows, shared)| {
            let row = thread.rank() as usize;
            rows.store(row * 10_000, &vec![row as f64 + 1.0; 10_000]);
            for _ in 0..20 {
                thread.locked(1, || shared.set(0, shared.get(0) + 1))?;
            }
            thread.barrier()?;
            thread.push(rows, row * 10_000..(row + 1) * 10_000)?;
            thread.barrier()?;
            let mut all = vec![0.0; 30_000];
            rows.load(0, &mut all);
            Ok((all.iter().sum::<f64>(), shared.get(0)))
        });
        assert_eq!(sums, vec![(60_000.0, 60); 3], "{backend:?}");
    }
}

#[test]
fn all_threads_get_the_same_reduction_and_the_layout_knows_their_number() {
    for backend in backends() {
        for (count, threads) in [(1, 1), (1, 3), (3, 1), (2, 2), (3, 2)] {
            let settings = Settings { bytes: 1 << 16, threads, backend: Some(backend), ..Settings::default() };
            let layout = |layout: &mut SharedAllocator| Ok((layout.ranks(), layout.all()));
            let all = ranks(count, settings, layout, |thread, &known| {
                assert_eq!(known, (thread.ranks(), thread.all()));
                let number = thread.number();
                let mut sums = 0;
                for turn in 0..20 {
                    sums += thread.reduce(u64::from(number) + turn, sum)?;
                }
                // Values are combined in the order of thread numbers, so the rightmost one is the last
                // thread's.
                let last = thread.reduce(number, |_, later| later)?;
                Ok((sums, thread.reduce(f64::from(number), minimum)?, thread.reduce(-i64::from(number), maximum)?, last))
            });
            let n = u64::from(count * threads);
            let expected = (20 * n * (n - 1) / 2 + n * 190, 0.0, 0, count * threads - 1);
            assert_eq!(all, vec![expected; n as usize], "{backend:?}, {count} ranks of {threads}");
        }
    }
}

#[test]
fn advice_fetches_data_ahead_and_changes_no_value() {
    for backend in backends() {
        let settings = Settings { bytes: 1 << 16, backend: Some(backend), policy: Some(Policy::Block), ..Settings::default() };
        let layout = |layout: &mut SharedAllocator| layout.array::<u64>(8, 1);
        let all = ranks(2, settings, layout, |thread, words: &Array<u64>| {
            let (mine, theirs) = if thread.rank() == 0 { (0..4, 4..8) } else { (4..8, 0..4) };
            mine.clone().for_each(|at| words.set(at, at as u64));
            thread.advise(words, mine, Advice::AllWillRead)?;
            thread.start_clock()?;
            let sum: u64 = (0..8).map(|at| words.get(at)).sum();
            assert_eq!(thread.stats().count(WaitKind::ReadFault), 0, "a push must leave nothing to fetch");
            thread.barrier()?;
            thread.advise(words, theirs.clone(), Advice::WillWrite)?;
            theirs.clone().for_each(|at| words.set(at, 9));
            assert_eq!(
                thread.stats().count(WaitKind::Upgrade) + thread.stats().count(WaitKind::WriteFault),
                0,
                "a prefetch must leave nothing to fetch"
            );
            thread.barrier()?;
            thread.advise(words, 0..8, Advice::WillRead)?;
            Ok((sum, (0..8).map(|at| words.get(at)).sum::<u64>()))
        });
        assert_eq!(all, vec![(28, 72); 2], "{backend:?}");
    }
}

#[test]
fn many_more_threads_than_processors_finish() {
    for backend in backends() {
        let settings = Settings { bytes: 1 << 16, threads: 2, backend: Some(backend), ..Settings::default() };
        let layout = |layout: &mut SharedAllocator| layout.array::<u64>(4, 1);
        let sums = ranks(8, settings, layout, |thread, words: &Array<u64>| {
            for turn in 0..10 {
                words.fetch_add(turn % 3, 1);
                thread.locked(1, || words.set(3, words.get(3) + 1))?;
            }
            thread.barrier()?;
            Ok((0..4).map(|at| words.get(at)).sum::<u64>())
        });
        assert_eq!(sums, vec![2 * 160; 16], "{backend:?}");
    }
}

#[test]
fn a_wait_sees_the_stores_before_its_post_and_no_post_is_lost() {
    const TURNS: u64 = 50;
    for backend in backends() {
        for (count, threads) in [(1, 2), (2, 1), (3, 2)] {
            let settings = Settings { bytes: 1 << 16, threads, backend: Some(backend), ..Settings::default() };
            let layout = |layout: &mut SharedAllocator| layout.array::<u64>(1, 1);
            // A token passes from thread to thread. At the end, thread 0 posts once for each other thread on
            // one flag, perhaps before they wait: posts must add up.
            let ends = ranks(count, settings, layout, |thread, word: &Array<u64>| {
                let (number, all) = (thread.number(), thread.all());
                let mut seen = Vec::new();
                for turn in 0..TURNS {
                    if number > 0 || turn > 0 {
                        thread.wait(number)?;
                    }
                    seen.push(word.get(0));
                    word.set(0, word.get(0) + 1);
                    thread.post((number + 1) % all)?;
                }
                if number == 0 {
                    (1..all).try_for_each(|_| thread.post(40))?;
                } else {
                    thread.wait(40)?;
                }
                Ok(seen)
            });
            for (number, seen) in (0..).zip(ends) {
                let all = u64::from(count * threads);
                assert_eq!(
                    seen,
                    (0..TURNS).map(|turn| turn * all + number).collect::<Vec<_>>(),
                    "{backend:?}, {count} x {threads}"
                );
            }
        }
    }
}

#[test]
fn load_for_update_costs_one_fault() {
    for backend in backends() {
        let settings = Settings { bytes: 1 << 16, backend: Some(backend), policy: Some(Policy::Block), ..Settings::default() };
        // The range starts at the second element of 4 bytes, which is not aligned to a word of 8.
        let layout = |layout: &mut SharedAllocator| layout.array::<u32>(12, 6);
        let all = ranks(2, settings, layout, |thread, words: &Array<u32>| {
            if thread.rank() == 0 {
                words.store(0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
            }
            thread.start_clock()?;
            let mut few = [0; 3];
            if thread.rank() == 1 {
                words.load_for_update(1, &mut few);
                words.store(1, &few.map(|word| word * 10));
            }
            let count = [WaitKind::WriteFault, WaitKind::ReadFault, WaitKind::Upgrade].map(|kind| thread.stats().count(kind));
            thread.barrier()?;
            Ok((count, few, words.get(2), words.get(7)))
        });
        assert_eq!(all[1], ([1, 0, 0], [2, 3, 4], 30, 8), "{backend:?}");
        assert_eq!((all[0].2, all[0].3), (30, 8), "{backend:?}: only the stored elements may change");
    }
}
