//! Shared memory that is allocated and freed while the program runs, with equal calls by all threads of all
//! ranks.
mod here;

use foregather_dsm::Access;
use foregather_dsm::memory::{Advice, Array, Settings, SharedAllocator};
use foregather_dsm::views::{Backend, Room};
use foregather_machine::{Cause, Error};
use foregather_wait::Policy;
use here::{OfThread, backends, ranks};
use std::process::Command;

const BYTES: usize = 1 << 15;

fn settings(threads: u32, backend: Backend, central: bool) -> Settings {
    let policy = Some(Policy::Block);
    Settings { bytes: BYTES, views: 32, threads, backend: Some(backend), policy, central, ..Settings::default() }
}

fn nothing(_: &mut SharedAllocator) -> Result<(), Error> {
    Ok(())
}

/// Each thread writes its share, and all threads read everything.
fn fill(thread: &OfThread<'_>, words: &Array<u64>, with: u64) -> Result<(), Error> {
    let sum = |words: &Array<u64>| (0..words.len()).map(|at| words.get(at)).sum::<u64>();
    assert_eq!(sum(words), 0, "what another array left behind");
    thread.barrier()?;
    thread.share(words.len()).for_each(|at| words.set(at, with));
    thread.barrier()?;
    assert_eq!(sum(words), with * words.len() as u64);
    Ok(())
}

#[test]
fn what_is_freed_is_there_again_zero_and_what_lies_beside_it_keeps_its_values() {
    for backend in backends() {
        for (count, threads, central) in [(1, 2, false), (2, 1, false), (3, 2, false), (3, 1, true)] {
            let layout = |layout: &mut SharedAllocator| layout.array::<u64>(64, 7);
            ranks(count, settings(threads, backend, central), layout, |thread, kept: &Array<u64>| {
                thread.share(64).for_each(|at| kept.set(at, at as u64 + 1));
                for turn in 1..=100 {
                    // Half of the space: units that share pages, whole pages, and chunks, in turn.
                    let (unit, level) = [(100, 1), (700, 1), (40, 4)][turn % 3];
                    let words = thread.chunked::<u64>(BYTES / 16, unit, level)?;
                    fill(thread, &words, turn as u64)?;
                    thread.free(words)?;
                }
                assert!((0..64).all(|at| kept.get(at) == at as u64 + 1));
                Ok(())
            });
        }
    }
}

#[test]
fn several_arrays_come_and_go_in_any_order() {
    for backend in backends() {
        ranks(2, settings(2, backend, false), nothing, |thread, ()| {
            let mut live: Vec<Array<u64>> = Vec::new();
            for turn in 0..60_usize {
                if live.len() == 3 {
                    let old = live.remove(turn * 7 % 3);
                    thread.prefetch(&old, thread.share(old.len()), Access::Write)?;
                    thread.free(old)?;
                }
                let new = thread.array(50 + turn * 13 % 200, 2 + turn * 5 % 60)?;
                fill(thread, &new, turn as u64 + 1)?;
                live.push(new);
                for words in &live {
                    assert!((0..words.len()).all(|at| words.get(at) == words.get(0)), "turn {turn}");
                }
            }
            Ok(())
        });
    }
}

#[test]
fn without_room_all_ranks_get_the_same_error_and_go_on() {
    for backend in backends() {
        let errors = ranks(3, settings(2, backend, false), nothing, |thread, ()| {
            let most = thread.array::<u64>(BYTES / 8 - 512, 512)?;
            let mut errors = vec![];
            for len in [BYTES, 2048] {
                errors.push(thread.array::<u64>(len, 600).unwrap_err().to_string());
            }
            fill(thread, &most, 5)?;
            thread.free(most)?;
            fill(thread, &thread.array(BYTES / 8, 512)?, 6)?;
            Ok(errors)
        });
        assert!(errors.iter().all(|all| *all == errors[0] && all.iter().all(|one| one.contains("room for"))), "{errors:?}");
    }
}

#[test]
fn calls_that_are_not_alike_are_named_on_all_ranks_and_change_nothing() {
    for backend in backends() {
        ranks(2, settings(2, backend, false), nothing, |thread, ()| {
            let unlike = |end: Result<(), Error>| {
                let error = end.unwrap_err();
                assert!(error.to_string().contains("same calls in the same order"), "{error}");
            };
            let number = thread.number() as usize;
            // A different call by one rank, and then by one thread of a rank.
            unlike(thread.array::<u64>(8, 1 + number / 2).map(|_| ()));
            unlike(if number == 2 { thread.array::<u64>(8, 1).map(|_| ()) } else { thread.array::<f64>(8, 1).map(|_| ()) });
            let (one, other) = (thread.array::<u64>(8, 1)?, thread.array::<u64>(8, 1)?);
            unlike(thread.free(if number == 0 { one.clone() } else { other.clone() }));
            fill(thread, &one, 3)?;
            thread.free(other)?;
            thread.free(one)
        });
    }
}

#[test]
fn a_call_about_what_was_freed_is_refused_with_the_place_of_its_allocation() {
    for backend in backends() {
        ranks(
            2,
            settings(1, backend, false),
            |layout: &mut SharedAllocator| layout.array::<u64>(8, 8),
            |thread, words: &Array<u64>| {
                thread.push(words, 0..8)?;
                thread.free(words.clone())?;
                let refusals = [
                    thread.push(words, 0..8),
                    thread.prefetch(words, 0..8, Access::Read).map(|_| ()),
                    thread.advise(words, 0..8, Advice::AllWillRead),
                    thread.free(words.clone()),
                ];
                for refusal in refusals {
                    let error = refusal.unwrap_err();
                    assert!(matches!(error.cause(), Cause::Refused { why } if why.contains(file!())), "{error}");
                }
                thread.barrier()
            },
        );
    }
}

#[test]
fn where_an_array_was_allocated_is_known_in_the_end() {
    use foregather_dsm::memory::{lanes, run};
    let exchange = foregather_shm::ShmFabric::between_threads(foregather_shm::SegmentSpec::new(1, lanes(1))).unwrap();
    let address = |lane| foregather_machine::Address { rank: 0, lane };
    let lane = |lane| exchange.lane(foregather_thread::Thread::current(), address(lane)).unwrap();
    let ended = run((0..lanes(1)).map(lane).collect(), settings(1, Backend::Mprotect, false), nothing, |thread, ()| {
        for _ in 0..5 {
            thread.free(thread.array::<u32>(10, 5)?)?;
        }
        thread.chunked::<u16>(9, 2, 2)
    });
    let ended = ended.unwrap();
    let sites: Vec<_> = ended.sites.iter().map(|site| (site.element_bytes, site.unit_bytes, site.level)).collect();
    assert_eq!(sites, [(4, 20, 1), (2, 4, 2)]);
    assert!(ended.sites.iter().all(|site| site.place.starts_with(file!())), "{:?}", ended.sites);
    ended.leave();
}

/// Passed to the program that a test starts.
const BACKEND: &str = "FOREGATHER_TEST_BACKEND";

#[test]
fn a_load_of_what_was_freed_ends_the_process_with_a_line_that_says_why() {
    for backend in backends() {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "loads_what_was_freed", "--ignored", "--nocapture"]).env(BACKEND, format!("{backend:?}"));
        let end = program.output().unwrap();
        let said = String::from_utf8_lossy(&end.stderr);
        assert!(!end.status.success() && said.contains("cannot read byte 0 of view 0: nothing is allocated there"), "{said}");
    }
}

#[test]
#[ignore = "started by the test above"]
fn loads_what_was_freed() {
    let Ok(name) = std::env::var(BACKEND) else { return };
    let backend = backends().into_iter().find(|backend| format!("{backend:?}") == name).unwrap();
    ranks(2, settings(1, backend, false), nothing, |thread, ()| {
        let words = thread.array::<u64>(8, 8)?;
        words.fetch_add(0, 1);
        thread.free(words.clone())?;
        Ok(words.get(0))
    });
}

#[test]
fn a_space_of_all_the_room_there_is_costs_what_is_used_of_it() {
    for backend in backends() {
        let room = Room::of(4, Some(backend));
        let settings = Settings { bytes: room.bytes, views: room.views, ..settings(1, backend, false) };
        let sums = ranks(2, settings, nothing, |thread, ()| {
            for len in [1, 1 << 10, 300_000] {
                let words = thread.array::<u64>(len, 512)?;
                fill(thread, &words, 3)?;
                if len == 1 {
                    thread.free(words)?;
                }
            }
            // More than there is: all get the same error and continue.
            let error = thread.array::<u64>(room.bytes / 8 + 1, 512).unwrap_err();
            assert!(matches!(error.cause(), Cause::Unavailable { .. }), "{error}");
            fill(thread, &thread.array(7, 1)?, 5)?;
            Ok(1)
        });
        assert_eq!(sums, [1, 1]);
    }
}
