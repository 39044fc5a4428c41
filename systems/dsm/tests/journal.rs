//! Threads record what they do if asked to, and nothing else.
use foregather_dsm::Access;
use foregather_dsm::journal::Operation;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, lanes, run};
use foregather_machine::Address;
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;
use foregather_wait::Policy;

#[test]
fn a_journal_has_first_touches_bytes_locks_and_barriers_in_order() {
    let settings = Settings { bytes: 1 << 16, journal: 100, policy: Some(Policy::Block), ..Settings::default() };
    let exchange = ShmFabric::between_threads(SegmentSpec::new(1, lanes(1))).unwrap();
    let lane = |lane| exchange.lane(Thread::current(), Address { rank: 0, lane }).unwrap();
    let layout = |layout: &mut SharedAllocator| layout.chunked::<u64>(8, 2, 2);
    let program = |thread: &foregather_dsm::memory::Thread<'_, _>, all: &Array<u64>| {
        all.set(5, 1);
        all.set(7, all.get(5));
        thread.barrier()?;
        thread.locked(3, || all.get(0))?;
        Ok(all.minipage(2))
    };
    let served = run((0..lanes(1)).map(lane).collect(), settings, layout, program).unwrap();
    assert_eq!(served.sites.len(), 1);
    assert!(served.sites[0].place.contains("journal.rs:"), "{:?}", served.sites);
    let end = served.leave().remove(0);
    let minipage = end.result;
    let touch = |access, bytes: &[(u32, u32)]| {
        let mut all = foregather_dsm::journal::Bytes::default();
        bytes.iter().for_each(|&(start, end)| all.include(start..end));
        Operation::Touch { minipage, access, bytes: all, again: false, atomic: false }
    };
    let did: Vec<Operation> = end.journal.unwrap().events.into_iter().map(|event| event.what).collect();
    let elsewhere = Operation::touch(foregather_dsm::Minipage(minipage.0 - 1), Access::Read, 0..8);
    let expected = [
        // Elements 4 to 7 are units 2 and 3, which make the second minipage.
        touch(Access::Write, &[(8, 16), (24, 32)]),
        touch(Access::Read, &[(8, 16)]),
        Operation::Barrier,
        Operation::Lock(3),
        elsewhere,
        Operation::Unlock(3),
        Operation::End,
    ];
    assert_eq!(did, expected);
}
