//! Ranks as threads of this process, each with a space of its own, over lanes in shared memory.
use foregather_dsm::memory::{Array, Settings, Thread, lanes, run};
use foregather_dsm::views::Backend;
use foregather_machine::{Address, Error};
use foregather_shm::{Exchange, Lane, Shape};
use foregather_thread as threads;
use foregather_wait::Policy;
use std::sync::Arc;

type OfThread<'t> = Thread<'t, Lane<threads::Thread>>;

/// Runs a program on so many ranks; what each thread gave.
fn ranks<S: Sync, R: Send>(
    count: u32,
    settings: Settings,
    layout: impl Fn(&mut foregather_dsm::memory::Layout) -> Result<S, Error> + Sync,
    program: impl Fn(&OfThread<'_>, &S) -> Result<R, Error> + Sync,
) -> Vec<R> {
    let exchange = Exchange::between_threads(Shape::new(count, lanes(settings.threads))).unwrap();
    let (layout, program) = (&layout, &program);
    std::thread::scope(|scope| {
        let start = |rank| {
            let exchange = Arc::clone(&exchange);
            scope.spawn(move || {
                let lane = |lane| exchange.lane(threads::Thread::current(), Address { rank, lane }).unwrap();
                let all = (0..lanes(settings.threads)).map(lane).collect();
                run(all, settings, layout, program).unwrap().leave().into_iter().map(|end| end.result).collect::<Vec<_>>()
            })
        };
        let started: Vec<_> = (0..count).map(start).collect();
        started.into_iter().flat_map(|rank| rank.join().unwrap()).collect()
    })
}

fn backends() -> Vec<Backend> {
    let (chosen, _) = Backend::chosen();
    if chosen == Backend::Userfault { vec![Backend::Userfault, Backend::Mprotect] } else { vec![Backend::Mprotect] }
}

#[test]
fn no_update_of_a_shared_counter_is_lost() {
    const ROUNDS: u64 = 300;
    const COUNTERS: usize = 16;
    for backend in backends() {
        for (count, threads) in [(1, 2), (2, 1), (3, 1), (2, 2)] {
            let settings =
                Settings { bytes: 1 << 20, threads, backend: Some(backend), policy: Some(Policy::Block), ..Settings::default() };
            let layout = |layout: &mut foregather_dsm::memory::Layout| layout.array::<u64>(COUNTERS, 3);
            let sums = ranks(count, settings, layout, |thread, counters: &Array<u64>| {
                thread.barrier()?;
                for round in 0..ROUNDS {
                    counters.fetch_add((round as usize * 7 + thread.number() as usize) % COUNTERS, 1);
                }
                thread.barrier()?;
                Ok((0..COUNTERS).map(|at| counters.get(at)).sum::<u64>())
            });
            let all = ROUNDS * u64::from(count * threads);
            assert_eq!(sums, vec![all; (count * threads) as usize], "{backend:?}, {count} ranks of {threads} threads");
        }
    }
}

#[test]
fn long_units_locks_pushes_and_prefetches_work_on_hardware() {
    for backend in backends() {
        let settings = Settings { bytes: 4 << 20, backend: Some(backend), policy: Some(Policy::Block), ..Settings::default() };
        let layout =
            |layout: &mut foregather_dsm::memory::Layout| Ok((layout.array::<f64>(30_000, 10_000)?, layout.array::<u32>(8, 8)?));
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
