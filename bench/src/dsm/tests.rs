//! Ranks as threads of this process: every manner and part gives as many times as were asked for. No time is
//! tested.
use super::faults::UNITS;
use super::*;
use foregather_dsm::memory;
use foregather_machine::{Address, Nanos};
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;

fn backends() -> impl Iterator<Item = Backend> {
    [Backend::Userfault, Backend::Mprotect].into_iter().filter(|backend| backend.available().is_ok())
}

/// What rank 0 finds.
fn here(task: &DsmBenchmark) -> Result<Figures, Error> {
    clock::init();
    let count = lanes(task);
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, count))?;
    let of = |rank: u32| {
        let lane = |lane| exchange.lane(Thread::current(), Address { rank, lane });
        rank_of((0..count).map(lane).collect::<Result<Vec<_>, _>>()?, task, None)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of(1));
        let own = of(0);
        other.join().expect("rank 1 does not panic").and(own)
    })
}

fn counts(answer: &Figures) -> Vec<(Quantity, usize, usize)> {
    answer.timed.iter().map(|timed| (timed.what, timed.bytes, timed.ns.len())).collect()
}

#[test]
fn every_manner_of_touching_faults_as_often_as_it_touches() {
    for backend in backends() {
        let manners = [(148, false, false), (148, true, false), (148, false, true), (4_096, false, false), (5_000, false, true)];
        for (bytes, computing, asking) in manners {
            let task = DsmBenchmark::Faults {
                bytes,
                backend: backend.name().into(),
                policy: "adaptive".into(),
                computing,
                asking,
                pause_ns: 1_000,
                rounds: 2,
            };
            let answer = here(&task).unwrap();
            let times = |what| (what, bytes, 2 * UNITS);
            assert_eq!(counts(&answer), [times(Quantity::Read), times(Quantity::Upgrade), times(Quantity::Write)]);
            assert!(answer.timed.iter().all(|timed| timed.cpu_ns[0] > 0), "{backend:?}: processor time is measured");
        }
    }
}

/// Units are chosen by their manager, so each touch is one request to rank 1: no more and no fewer.
#[test]
fn each_touch_is_one_request_to_the_manager() {
    clock::init();
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, memory::lanes(1))).unwrap();
    let rank_of = |rank: u32| {
        let lane = |lane| exchange.lane(Thread::current(), Address { rank, lane }).unwrap();
        let settings = memory::Settings { bytes: 1 << 20, ..Default::default() };
        let manner = faults::Manner { bytes: 148, computing: false, asking: false, pause: Nanos::ZERO, rounds: 3 };
        let run = memory::run(
            (0..memory::lanes(1)).map(lane).collect(),
            settings,
            |layout| faults::FaultMemory::new(layout, 148),
            |thread, shared| faults::rounds(thread, shared, manner, None),
        );
        run.unwrap().leave().remove(0).stats
    };
    let tally = std::thread::scope(|scope| {
        let other = scope.spawn(|| rank_of(1));
        let own = rank_of(0);
        other.join().unwrap();
        own
    });
    use foregather_dsm::node::WaitKind;
    let expected = 3 * UNITS as u64;
    for kind in [WaitKind::ReadFault, WaitKind::Upgrade, WaitKind::WriteFault] {
        assert_eq!(tally.count(kind), expected, "{kind:?}");
    }
}

#[test]
fn frames_bring_every_size_also_those_of_several_frames() {
    let answer = here(&DsmBenchmark::Fetch { sizes: vec![4, 148, 4_096, 9_000], rounds: 30 }).unwrap();
    let times = |bytes| (Quantity::Fetch, bytes, 30);
    assert_eq!(counts(&answer), [times(4), times(148), times(4_096), times(9_000)]);
}

#[test]
fn faults_that_are_answered_at_once_and_calls_are_timed_on_every_back_end() {
    for backend in backends() {
        let answer = parts::at_once(backend, 2).unwrap();
        let often = |what| answer.timed.iter().find(|timed| timed.what == what).map_or(0, |timed| timed.ns.len());
        for what in [
            Quantity::ReadAtOnce,
            Quantity::UpgradeAtOnce,
            Quantity::WriteAtOnce,
            Quantity::OpenToRead,
            Quantity::Raise,
            Quantity::Downgrade,
        ] {
            assert_eq!(often(what), 400, "{backend:?}, {what:?}");
        }
        assert_eq!((often(Quantity::CloseWritten), often(Quantity::CloseRead)), (1_200, 400), "{backend:?}");
    }
}

#[test]
fn open_memory_is_traversed_through_one_view_and_through_many() {
    for backend in backends() {
        for views in [1, 27, 64] {
            let answer = parts::views(backend, (64 << 10, views), 3).unwrap();
            assert_eq!(counts(&answer), [(Quantity::ThroughViews, 64 << 10, 3), (Quantity::ThroughOne, 64 << 10, 3)]);
        }
    }
}

#[test]
fn a_cell_is_read_as_it_was_written_and_wrong_ones_are_named() {
    let task = DsmBenchmark::Views { backend: "mprotect".into(), bytes: 4_096, views: 2, turns: 1 };
    let plan = DsmCell { cpus: [0, 1], task };
    assert_eq!(DsmCell::from_arg(&plan.to_arg()).unwrap(), plan);
    assert!(DsmCell::from_arg("{}").is_err());
    assert!(backend_of("magic").unwrap_err().to_string().contains("magic"));
    let spim = DsmBenchmark::Faults {
        bytes: 8,
        backend: "mprotect".into(),
        policy: "spim".into(),
        computing: false,
        asking: false,
        pause_ns: 0,
        rounds: 1,
    };
    assert!(here(&spim).unwrap_err().to_string().contains("spim"));
}
