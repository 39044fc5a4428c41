//! Ranks of this process that give up: all others get the rank, wherever they wait.
#[path = "here/on_ranks.rs"]
mod on_ranks;

use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread, lanes, run};
use foregather_machine::{Address, Cause, Error};
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread as threads;
use foregather_wait::Policy;
use on_ranks::on_ranks;
use std::panic::{AssertUnwindSafe, catch_unwind};

type OfThread<'t> = Thread<'t, Lane<threads::Thread>>;

/// How a rank ended: with the results of its threads, an error, or the text of a panic.
type End<R> = Result<Result<Vec<R>, Error>, String>;

fn ranks<S: Sync, R: Send>(
    count: u32,
    settings: Settings,
    layout: impl Fn(u32, &mut SharedAllocator) -> Result<S, Error> + Sync,
    program: impl Fn(&OfThread<'_>, &S) -> Result<R, Error> + Sync,
) -> Vec<End<R>> {
    on_ranks(count, settings.threads, |rank, lanes| {
        let end = catch_unwind(AssertUnwindSafe(|| {
            let served = run(lanes, settings, |memory| layout(rank, memory), &program)?;
            Ok(served.leave().into_iter().map(|end| end.result).collect())
        }));
        end.map_err(|panic| (*panic.downcast::<&str>().unwrap()).to_owned())
    })
}

fn settings(threads: u32) -> Settings {
    Settings { bytes: 1 << 16, threads, locks: 64, policy: Some(Policy::Block), ..Settings::default() }
}

fn words(_: u32, layout: &mut SharedAllocator) -> Result<Array<u64>, Error> {
    layout.array(8, 1)
}

/// Asserts that the errors of all ranks except the culprit name the culprit.
fn all_blame<R>(culprit: usize, ends: &[End<R>])
where
    R: std::fmt::Debug,
{
    for (rank, end) in ends.iter().enumerate().filter(|&(rank, _)| rank != culprit) {
        let error = end.as_ref().unwrap_or_else(|panic| panic!("rank {rank} panicked: {panic}")).as_ref().unwrap_err();
        let by = culprit as u32;
        let blamed = [Cause::Poisoned { by: Some(by) }, Cause::PoisonedLock { by }];
        assert!(blamed.contains(error.cause()), "rank {rank}: {error:?}");
    }
}

/// Where the other ranks are when one of them gives up.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Lock,
    Barrier,
    /// For a flag that no thread posts.
    Flag,
    /// One thread of each rank in the barrier, the other one for a lock.
    Both,
    /// They have ended.
    Through,
}

const WAITING: [Waiting; 5] = [Waiting::Lock, Waiting::Barrier, Waiting::Flag, Waiting::Both, Waiting::Through];

fn waits(waiting: Waiting, thread: &OfThread<'_>) -> Result<(), Error> {
    match waiting {
        Waiting::Lock => thread.locked(1, || ()),
        Waiting::Barrier => thread.barrier(),
        Waiting::Flag => thread.wait(2),
        Waiting::Both if thread.number().is_multiple_of(2) => thread.barrier(),
        // It may get the lock after all, from the thread that releases it and then gives up.
        Waiting::Both => thread.locked(1, || ()).and_then(|()| thread.barrier()),
        Waiting::Through => Ok(()),
    }
}

/// The second thread of rank 1 holds lock 1, and continues when all others are about to wait.
fn one_gives_up(waiting: Waiting, how: impl Fn() -> Result<(), Error> + Sync) -> Vec<End<()>> {
    ranks(3, settings(2), words, |thread, words| {
        let culprit = thread.number() == 3;
        if culprit {
            let end = thread.locked(1, || {
                thread.barrier()?;
                while (0..6).filter(|&of| of != 3).any(|of| words.get(of) == 0) {
                    std::thread::yield_now();
                }
                how()
            });
            return end?;
        }
        thread.barrier()?;
        words.set(thread.number() as usize, 1);
        waits(waiting, thread)
    })
}

#[test]
fn an_error_of_one_thread_ends_all_ranks_and_is_given_back_where_it_was_made() {
    for waiting in WAITING {
        let why = || Error::from(Cause::Setting { what: "the test", needs: "an error" });
        let ends = one_gives_up(waiting, || Err(why()));
        assert_eq!(ends[1].as_ref().unwrap().as_ref().unwrap_err(), &why(), "{waiting:?}");
        all_blame(1, &ends);
    }
}

#[test]
fn a_panic_of_one_thread_ends_all_ranks_and_goes_on_where_it_began() {
    for waiting in WAITING {
        let ends = one_gives_up(waiting, || panic!("on purpose"));
        assert_eq!(ends[1].as_ref().unwrap_err(), "on purpose", "{waiting:?}");
        all_blame(1, &ends);
    }
}

#[test]
fn a_panic_that_is_caught_leaves_no_lock_held_and_the_lock_names_it_from_then_on() {
    for waits in [false, true] {
        let ends = ranks(3, settings(2), words, |thread, words| {
            let panics = thread.number() == 3;
            if panics {
                let locked = || {
                    thread.locked(1, || -> Result<(), Error> {
                        if waits {
                            thread.barrier()?;
                        }
                        words.set(0, 7);
                        panic!("on purpose")
                    })
                };
                let panic = catch_unwind(AssertUnwindSafe(locked)).unwrap_err();
                assert_eq!(*panic.downcast::<&str>().unwrap(), "on purpose");
            }
            if !panics && waits {
                thread.barrier()?;
            }
            if !waits {
                thread.barrier()?;
            }
            for _ in 0..2 {
                let error = thread.locked(1, || ()).unwrap_err();
                assert_eq!(error.cause(), &Cause::PoisonedLock { by: 1 });
            }
            // Everything else continues.
            thread.locked(2, || words.set(1, words.get(1) + 1))?;
            thread.barrier()?;
            Ok(words.get(1))
        });
        assert_eq!(ends, [Ok(Ok(vec![6, 6])), Ok(Ok(vec![6, 6])), Ok(Ok(vec![6, 6]))]);
    }
}

#[test]
fn who_goes_on_after_an_error_gets_it_again_and_hangs_nowhere() {
    let ends = ranks(3, settings(2), words, |thread, words| {
        words.set(thread.number() as usize, 1);
        // A store that needs another rank, which gives up, ends its process.
        thread.barrier()?;
        if thread.number() == 5 {
            return Err(Cause::Refused { why: "the test".to_owned() }.into());
        }
        while thread.barrier().is_ok() {}
        for _ in 0..3 {
            assert!(thread.barrier().is_err() && thread.locked(1, || ()).is_err());
            assert!(thread.push(words, 0..1).is_err());
        }
        Ok(())
    });
    all_blame(2, &ends);
}

#[test]
fn a_rank_that_cannot_begin_ends_all_others() {
    for panics in [false, true] {
        let layout = |rank, layout: &mut SharedAllocator| match rank {
            1 if panics => panic!("on purpose"),
            1 => layout.array::<u64>(1 << 20, 1),
            _ => layout.array(8, 1),
        };
        let ends = ranks(3, settings(2), layout, |thread, _| match thread.number() % 2 {
            0 => thread.barrier(),
            _ => thread.locked(1, || thread.barrier())?,
        });
        match &ends[1] {
            Err(panic) => assert!(panics && panic == "on purpose"),
            Ok(end) => assert!(end.as_ref().unwrap_err().to_string().contains("room for 8 bytes"), "{end:?}"),
        }
        all_blame(1, &ends);
    }
}

/// Returns the error of a rank with one thread that cannot start, or that uses something that does not exist.
fn alone(
    count: u32,
    settings: Settings,
    layout: impl FnOnce(&mut SharedAllocator) -> Result<(), Error>,
    program: impl Fn(&OfThread<'_>) -> Result<(), Error> + Sync,
) -> String {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(count, lanes(1))).unwrap();
    let lane = |lane| exchange.lane(threads::Thread::current(), Address { rank: 0, lane }).unwrap();
    let end = run((0..lanes(1)).map(lane).collect(), settings, layout, |thread, ()| program(thread));
    end.unwrap_err().to_string()
}

#[test]
fn what_cannot_be_had_is_named_with_the_remedy() {
    let ok = |_: &OfThread<'_>| Ok(());
    let settings = settings(1);
    let array = |len, unit, level| move |layout: &mut SharedAllocator| layout.chunked::<u64>(len, unit, level).map(|_| ());
    let cases = [
        (alone(1, settings, array(9_000, 1, 1), ok), "room for 8 bytes, chunked by 1, in a shared space of 16 pages and 7 views"),
        (alone(1, settings, array(9_000, 9_000, 1), ok), "room for 72000 bytes"),
        (alone(1, settings, array(usize::MAX, usize::MAX, 1), ok), "make the space larger, give it more views"),
        (alone(1, settings, array(0, 1, 1), ok), "at least one element"),
        (alone(1, settings, array(1, 0, 1), ok), "at least one element"),
        (alone(1, Settings { bytes: 0, ..settings }, |_| Ok(()), ok), "the pages and views of a shared space"),
        (alone(1, Settings { views: 0, ..settings }, |_| Ok(()), ok), "the pages and views of a shared space"),
        (alone(1, Settings { views: 70_000, ..settings }, |_| Ok(()), ok), "fewer than 65536 views"),
        (alone(1, Settings { bytes: 1 << 50, views: 1, ..settings }, |_| Ok(()), ok), "the pages and views of a shared space"),
        (alone(1, Settings { threads: 2, ..settings }, |_| Ok(()), ok), "the number of lanes for shared memory"),
        (alone(65, settings, |_| Ok(()), ok), "the number of ranks that share memory is invalid: expected 1 to 64"),
        (alone(1, settings, |_| Ok(()), |thread| thread.locked(64, || ())), "there is no lock 64, only 64: set `locks`"),
        (alone(1, settings, |_| Ok(()), |thread| thread.post(64)), "there is no flag 64, only 64: set `locks`"),
        (alone(1, settings, |_| Ok(()), |thread| thread.wait(65)), "there is no flag 65"),
        (alone(1, settings, |_| Ok(()), |thread| thread.locked(3, || thread.locked(3, || ()))?), "has lock 3 already"),
    ];
    for (said, wanted) in cases {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}
